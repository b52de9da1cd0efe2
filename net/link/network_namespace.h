// SPDX-License-Identifier: Apache-2.0
// A network of its own within this machine: nothing but a loopback device at first. It has a name
// as `ip netns add` would give it, so `ip netns exec NAME` works, and it goes with this object.
// Sockets belong to the network of the thread that makes them, and threads start in the network of
// the one that starts them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/status.h"

namespace weft::net {

// Thread: any.
class NetworkNamespace {
 public:
  // `name` is of letters, digits, '-', '_' and '.'. One that an earlier process left behind is
  // removed first. Unavailable, in a sentence, if one is in use under that name, or without the
  // right to make one (root, or CAP_SYS_ADMIN with CAP_NET_ADMIN).
  static Result<std::unique_ptr<NetworkNamespace>> Create(const std::string& name);

  // The name goes now; the network itself when the last process has left it.
  ~NetworkNamespace();
  NetworkNamespace(const NetworkNamespace&) = delete;
  NetworkNamespace& operator=(const NetworkNamespace&) = delete;

  const std::string& name() const { return name_; }

  // Calls `work` on a thread inside, and returns what it returns.
  Status Run(const std::function<Status()>& work) const;

  // Moves the calling thread inside, for good: for a child process between fork and exec. False,
  // with errno, if that cannot be.
  bool Enter() const;

 private:
  NetworkNamespace(std::string name, int file) : name_(std::move(name)), file_(file) {}

  const std::string name_;
  const int file_;  // keeps it alive; locked, to show that somebody has it
};

}  // namespace weft::net
