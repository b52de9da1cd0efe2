// SPDX-License-Identifier: Apache-2.0
#include "apps/job/running_mark.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "apps/files/sha256.h"
#include "core/hex_text.h"

namespace weft::apps {
namespace {

struct Address {
  sockaddr_un address = {};
  socklen_t size = 0;
};

// Names of brokers may be longer than an address, so it is a hash of both.
Address AddressOf(const std::string& broker, const std::string& name) {
  const std::string both = broker + "\n" + name;
  Sha256 sha;
  sha.Add(std::as_bytes(std::span(both)));
  const std::string text = "weft/" + HexText(sha.Finish());
  Address at;
  at.address.sun_family = AF_UNIX;
  std::copy(text.begin(), text.end(), at.address.sun_path + 1);  // after a zero: abstract
  at.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return at;
}

Descriptor NewSocket() {
  return Descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace

RunningMark::RunningMark(const std::string& broker, const std::string& name)
    : socket_(NewSocket()) {
  const Address at = AddressOf(broker, name);
  if (!socket_.open() ||
      bind(socket_.get(), reinterpret_cast<const sockaddr*>(&at.address), at.size) != 0 ||
      listen(socket_.get(), 1) != 0) {
    socket_ = Descriptor(-1);
  }
}

std::optional<pid_t> WhoRunsAs(const std::string& broker, const std::string& name) {
  const Descriptor socket = NewSocket();
  const Address at = AddressOf(broker, name);
  // Nobody accepts; that somebody listens is the answer, also when too many have asked.
  if (!socket.open()) return std::nullopt;
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&at.address), at.size) != 0) {
    return errno == EAGAIN ? std::optional<pid_t>(0) : std::nullopt;
  }
  ucred peer{};
  socklen_t size = sizeof(peer);
  getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size);
  return peer.pid;
}

}  // namespace weft::apps
