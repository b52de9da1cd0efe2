// SPDX-License-Identifier: Apache-2.0
#include "net/link/tun_device.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <string_view>
#include <utility>

namespace weft::net {

namespace {

// virtio_net_hdr of <linux/virtio_net.h>, which is no C++.
struct PieceHeader {
  uint8_t flags;
  uint8_t gso_type;  // 0: a packet, as the wire would carry it
  uint16_t header_bytes;
  uint16_t gso_size;  // of what each packet of a piece holds
  uint16_t checksum_start;
  uint16_t checksum_offset;
};
static_assert(sizeof(PieceHeader) == TunDevice::kHeaderBytes);

// Packets that may wait for us to read them; with fewer, a burst would be lost here, unseen.
constexpr int kDeviceQueue = 10'000;

Status OpenFailure() {
  if (errno == ENOENT || errno == ENODEV) {
    return Status::Unavailable(
        "there is no /dev/net/tun: load the kernel's module tun, or give the container the device");
  }
  return Status::SystemFailure("opening /dev/net/tun");
}

ifreq RequestFor(const std::string& device) {
  ifreq request = {};
  std::copy_n(device.begin(), std::min<size_t>(device.size(), IFNAMSIZ - 1), request.ifr_name);
  return request;
}

void SetAddress(ifreq& request, uint32_t in_network_order) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = in_network_order;
  std::memcpy(&request.ifr_addr, &address, sizeof(address));
}

// IPv6 would talk to itself over the link, and be counted.
void SilenceIpv6(const std::string& device) {
  const int file =
      open(("/proc/sys/net/ipv6/conf/" + device + "/disable_ipv6").c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return;  // there is none
  [[maybe_unused]] const ssize_t written = write(file, "1", 1);
  close(file);
}

// Thread: inside the namespace.
Status Configure(int any, const LinkEnd& end, in_addr address, int mtu) {
  ifreq request = RequestFor(end.device);
  request.ifr_mtu = mtu;
  if (ioctl(any, SIOCSIFMTU, &request) != 0) return Status::SystemFailure("setting an MTU");
  request.ifr_qlen = kDeviceQueue;
  if (ioctl(any, SIOCSIFTXQLEN, &request) != 0)
    return Status::SystemFailure("setting a queue's length");
  SetAddress(request, address.s_addr);
  if (ioctl(any, SIOCSIFADDR, &request) != 0) return Status::SystemFailure("setting an address");
  SetAddress(request, htonl(end.prefix_bits == 0 ? 0 : ~uint32_t{0} << (32 - end.prefix_bits)));
  if (ioctl(any, SIOCSIFNETMASK, &request) != 0) return Status::SystemFailure("setting a netmask");
  request = RequestFor(end.device);
  if (ioctl(any, SIOCGIFFLAGS, &request) != 0) return Status::SystemFailure("reading flags");
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);  // NOLINT(google-runtime-int)
  if (ioctl(any, SIOCSIFFLAGS, &request) != 0) return Status::SystemFailure("bringing it up");
  return Status::Ok();
}

}  // namespace

Result<TunDevice> TunDevice::Open(const LinkEnd& end, int mtu) {
  in_addr address = {};
  if (inet_pton(AF_INET, end.address.c_str(), &address) != 1 || end.prefix_bits < 1 ||
      end.prefix_bits > 32) {
    return Status::InvalidInput("'" + end.address + "/" + std::to_string(end.prefix_bits) +
                                "' is no IPv4 address of a network");
  }
  if (end.device.empty() || end.device.size() >= IFNAMSIZ) {
    return Status::InvalidInput("'" + end.device + "' is no name for a network device");
  }
  assert(end.place != nullptr);
  TunDevice device;
  device.name_ = end.device;
  device.mtu_ = mtu;
  const Status status = end.place->Run([&]() -> Status {
    device.file_ = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (device.file_ < 0) return OpenFailure();
    ifreq request = RequestFor(end.device);
    request.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
    if (ioctl(device.file_, TUNSETIFF, &request) != 0) return Status::SystemFailure("making it");
    device.settings_ = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    device.counts_ = open("/proc/thread-self/net/dev", O_RDONLY | O_CLOEXEC);
    if (device.settings_ < 0 || device.counts_ < 0) return Status::SystemFailure("reaching it");
    SilenceIpv6(end.device);
    const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (any < 0) return Status::SystemFailure("opening a socket");
    Status configured = Configure(any, end, address, mtu);
    close(any);
    return configured;
  });
  if (!status.ok()) {
    return status.WithContext("the device " + end.device + " in " + end.place->name());
  }
  if (Status pieces = device.AllowPieces(0); !pieces.ok()) return pieces;
  return device;
}

TunDevice::TunDevice(TunDevice&& other) noexcept
    : name_(std::move(other.name_)),
      mtu_(other.mtu_),
      file_(std::exchange(other.file_, -1)),
      settings_(std::exchange(other.settings_, -1)),
      counts_(std::exchange(other.counts_, -1)) {}

TunDevice::~TunDevice() {
  for (const int file : {file_, settings_, counts_}) {
    if (file >= 0) close(file);
  }
}

Status TunDevice::AllowPieces(int64_t bytes) const {
  const bool pieces = bytes >= int64_t{2} * mtu_;
  if (pieces) {
    struct {
      nlmsghdr head;
      ifinfomsg link;
      struct {
        nlattr head;
        char text[IFNAMSIZ];
      } name;
      struct {
        nlattr head;
        uint32_t value;
      } most;
    } request = {};
    request.head.nlmsg_len = sizeof(request);
    request.head.nlmsg_type = RTM_NEWLINK;
    request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    request.link.ifi_family = AF_UNSPEC;
    request.name.head = {.nla_len = sizeof(request.name), .nla_type = IFLA_IFNAME};
    std::copy_n(name_.begin(), name_.size(), request.name.text);
    request.most.head = {.nla_len = sizeof(request.most), .nla_type = IFLA_GSO_MAX_SIZE};
    request.most.value = static_cast<uint32_t>(std::min<int64_t>(bytes, 65'536));
    struct {
      nlmsghdr head;
      nlmsgerr error;
      char rest[256];
    } answer = {};
    if (send(settings_, &request, sizeof(request), 0) < 0 ||
        recv(settings_, &answer, sizeof(answer), 0) < 0) {
      return Status::SystemFailure("setting how large pieces may be");
    }
    if (answer.head.nlmsg_type == NLMSG_ERROR && answer.error.error != 0) {
      errno = -answer.error.error;
      return Status::SystemFailure("setting how large pieces may be");
    }
  }
  if (ioctl(file_, TUNSETOFFLOAD, pieces ? TUN_F_CSUM | TUN_F_TSO4 : TUN_F_CSUM) != 0) {
    return Status::SystemFailure("setting what " + name_ + " may leave to us");
  }
  return Status::Ok();
}

std::optional<int64_t> TunDevice::unread() const {
  std::string table(65'536, '\0');
  const ssize_t size = pread(counts_, table.data(), table.size(), 0);
  table.resize(static_cast<size_t>(std::max<ssize_t>(0, size)));
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    const size_t first = line.find_first_not_of(' ');
    if (colon == std::string::npos || line.substr(first, colon - first) != name_) continue;
    // Eight numbers of what it received; then bytes, packets, errors, dropped.
    std::istringstream numbers(line.substr(colon + 1));
    int64_t number = 0;
    for (int i = 0; i < 12; ++i) numbers >> number;
    return numbers ? std::optional(number) : std::nullopt;
  }
  return std::nullopt;
}

WireSize SizeOnWire(std::span<const std::byte> packet) {
  PieceHeader header = {};
  assert(packet.size() >= sizeof(header));
  std::memcpy(&header, packet.data(), sizeof(header));
  const std::span<const std::byte> ip = packet.subspan(sizeof(header));
  const auto bytes = static_cast<int64_t>(ip.size());
  if (header.gso_type == 0 || header.gso_size == 0 || ip.size() < 40) {
    return {.packets = 1, .bytes = bytes};
  }
  // IPv4 and TCP say how long they are in words of four bytes.
  const size_t ip_bytes = std::to_integer<size_t>(ip[0] & std::byte{0x0F}) * 4;
  const size_t tcp_at = std::min(ip_bytes + 12, ip.size() - 1);
  const auto headers =
      static_cast<int64_t>(ip_bytes + std::to_integer<size_t>(ip[tcp_at] >> 4) * 4);
  const int64_t content = std::max<int64_t>(1, bytes - headers);
  const int64_t packets = (content + header.gso_size - 1) / header.gso_size;
  return {.packets = packets, .bytes = content + packets * headers};
}

}  // namespace weft::net
