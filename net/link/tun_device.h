// SPDX-License-Identifier: Apache-2.0
// One end of a link: a network device in a namespace, with an address, whose packets this process
// reads and writes. It goes with this object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/status.h"
#include "net/link/network_namespace.h"

namespace weft::net {

struct LinkEnd {
  const NetworkNamespace* place = nullptr;  // needed while the link is made
  std::string device = "weft0";             // its name there, 15 characters at most
  std::string address;                      // IPv4, in numbers
  int prefix_bits = 30;                     // of the network that is behind the device
};

class TunDevice {
 public:
  // What stands in front of each packet that is read or written, from the kernel to the kernel.
  static constexpr size_t kHeaderBytes = 10;
  static constexpr size_t kPacketBytes = kHeaderBytes + 65'536;

  // Up and with its address. Unavailable if the machine does not let us, has no /dev/net/tun, or
  // the name is taken; InvalidInput for an address that is none.
  static Result<TunDevice> Open(const LinkEnd& end, int mtu);

  TunDevice(TunDevice&& other) noexcept;
  TunDevice& operator=(TunDevice&&) = delete;
  ~TunDevice();

  int file() const { return file_; }  // does not block

  // The kernel may hand over TCP segments in one piece of up to `bytes`, which saves most of the
  // work; 0: one by one. Connections that stand may keep smaller pieces. Thread: any.
  Status AllowPieces(int64_t bytes) const;

  // Packets that were not read in time; nullopt: the kernel does not tell, as the device is gone.
  // Thread: any.
  std::optional<int64_t> unread() const;

 private:
  TunDevice() = default;

  std::string name_;
  int mtu_ = 0;
  int file_ = -1;
  int settings_ = -1;  // a netlink socket inside
  int counts_ = -1;    // the namespace's /proc/net/dev
};

// A packet as read: how many the wire would carry for it, and their bytes with all their headers.
struct WireSize {
  int64_t packets = 1;
  int64_t bytes = 0;
};
WireSize SizeOnWire(std::span<const std::byte> packet);

}  // namespace weft::net
