// SPDX-License-Identifier: Apache-2.0
#include "net/link/link_emulator.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <cerrno>
#include <type_traits>
#include <utility>

#include "core/clock.h"
#include "net/link/link_line.h"
#include "net/link/packet_fifo.h"

namespace weft::net {

namespace {

// Waking up costs more than carrying a packet: on a virtual machine, some 25 us of processor. So
// while there is much to do the thread sleeps this long after each batch, whatever comes. What it
// takes then comes late by half of that on average, and what it delivers ahead goes early by as
// much.
constexpr int64_t kGapNs = 300'000;
constexpr int64_t kAheadNs = 225'000;
// Waking up takes about that long, so it sets out early.
constexpr int64_t kWakeNs = 50'000;
// A piece of TCP segments arrives with its last byte, which makes its first late by so much.
constexpr int64_t kPieceNs = 200'000;
constexpr int kBatch = 64;  // packets of one device before the next has its turn
constexpr size_t kMostOnTheWay = size_t{256} << 20;

timespec TimeOf(int64_t ns) {
  timespec time = {};
  time.tv_sec = static_cast<decltype(time.tv_sec)>(ns / 1'000'000'000);
  time.tv_nsec = static_cast<decltype(time.tv_nsec)>(ns % 1'000'000'000);
  return time;
}

int64_t PieceBytes(const LinkSetting& setting) {
  if (setting.loss > 0) return 0;  // which takes single packets
  if (setting.rate_bps == 0) return 65'536;
  return static_cast<int64_t>(static_cast<double>(setting.rate_bps) * kPieceNs / 8e9);
}

// As much ahead of the others as we are allowed.
void HurryThisThread() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // which are for the program's threads
  prctl(PR_SET_NAME, "weft-links");
  prctl(PR_SET_TIMERSLACK, 1'000UL);
  sched_param priority = {};
  priority.sched_priority = 50;  // as the kernel's own threads for interrupts
  if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority) != 0) {
    setpriority(PRIO_PROCESS, 0, -20);  // of this thread only, on Linux
  }
}

}  // namespace

// One direction of a link.
struct LinkEmulator::Wire {
  // One thread writes, any reads.
  class Count {
   public:
    void Add(int64_t more) { Set(get() + more); }
    void Set(int64_t value) { value_.store(value, std::memory_order_relaxed); }
    int64_t get() const { return value_.load(std::memory_order_relaxed); }

   private:
    std::atomic<int64_t> value_{0};
  };

  Wire(int from_file, int to_file, const LinkSetting& setting, uint64_t seed, uint64_t stream)
      : from(from_file),
        to(to_file),
        line(setting, seed, stream),
        packets(TunDevice::kPacketBytes, kMostOnTheWay) {}

  const int from;
  const int to;
  // Owned by the emulator's thread; packets and line hold the same ones in the same order.
  LinkLine line;
  PacketFifo packets;

  Count delivered, bytes, queue_dropped, lost, late_sum_ns, late_most_ns, late;
  std::atomic<bool> gone{false};
};

// What Change asks of the thread.
struct LinkEmulator::Order {
  size_t wire;
  LinkSetting setting;
};

Result<std::unique_ptr<LinkEmulator>> LinkEmulator::Create(const std::vector<LinkPlan>& links,
                                                           uint64_t seed) {
  std::unique_ptr<LinkEmulator> emulator(new LinkEmulator);
  if (Status status = emulator->Start(links, seed); !status.ok()) return status;
  return emulator;
}

LinkEmulator::LinkEmulator() = default;

Status LinkEmulator::Start(const std::vector<LinkPlan>& links, uint64_t seed) {
  static_assert(std::is_trivially_copyable_v<Order> && sizeof(Order) <= 512);  // one write
  for (const LinkPlan& link : links) {
    for (const LinkSetting* setting : {&link.up, &link.down}) {
      if (Status status = Validate(*setting); !status.ok()) return status;
    }
    if (link.mtu < 576 || link.mtu > 9000) {
      return Status::InvalidInput("a link's MTU is 576 to 9000");
    }
  }
  devices_.reserve(2 * links.size());
  for (const LinkPlan& link : links) {
    for (const auto& [end, setting] :
         {std::pair{&link.edge, &link.up}, {&link.cloud, &link.down}}) {
      Result<TunDevice> device = TunDevice::Open(*end, link.mtu);
      if (!device.ok()) return device.status();
      if (Status status = device->AllowPieces(PieceBytes(*setting)); !status.ok()) return status;
      devices_.push_back(std::move(*device));
    }
    const int edge = devices_[devices_.size() - 2].file();
    const int cloud = devices_.back().file();
    wires_.push_back(std::make_unique<Wire>(edge, cloud, link.up, seed, wires_.size()));
    wires_.push_back(std::make_unique<Wire>(cloud, edge, link.down, seed, wires_.size()));
  }

  events_ = epoll_create1(EPOLL_CLOEXEC);
  if (events_ < 0 || pipe2(orders_, O_CLOEXEC) != 0)
    return Status::SystemFailure("making the emulator's pipe");
  fcntl(orders_[0], F_SETFL, O_NONBLOCK);
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;
  bool watched = epoll_ctl(events_, EPOLL_CTL_ADD, orders_[0], &event) == 0;
  for (const std::unique_ptr<Wire>& wire : wires_) {
    event.data.ptr = wire.get();
    watched = watched && epoll_ctl(events_, EPOLL_CTL_ADD, wire->from, &event) == 0;
  }
  const timespec at_once = {};
  if (!watched || epoll_pwait2(events_, &event, 1, &at_once, nullptr) < 0) {
    return Status::SystemFailure("watching devices");
  }
  thread_ = std::thread([this] { Carry(); });
  return Status::Ok();
}

LinkEmulator::~LinkEmulator() {
  if (orders_[1] >= 0) close(orders_[1]);
  if (thread_.joinable()) thread_.join();
  if (orders_[0] >= 0) close(orders_[0]);
  if (events_ >= 0) close(events_);
}

Status LinkEmulator::Change(size_t link, LinkDirection direction, const LinkSetting& setting) {
  assert(link < links());
  if (Status status = Validate(setting); !status.ok()) return status;
  // The direction's packets come from the device that has its index.
  const size_t wire = 2 * link + (direction == LinkDirection::kUp ? 0 : 1);
  if (Status status = devices_[wire].AllowPieces(PieceBytes(setting)); !status.ok()) return status;
  const Order order = {wire, setting};
  while (write(orders_[1], &order, sizeof(order)) < 0) {
    if (errno != EINTR) return Status::SystemFailure("changing a link");
  }
  return Status::Ok();
}

LinkCounters LinkEmulator::counters(size_t link, LinkDirection direction) const {
  assert(link < links());
  const size_t index = 2 * link + (direction == LinkDirection::kUp ? 0 : 1);
  const Wire& wire = *wires_[index];
  const int64_t packets = wire.delivered.get();
  return {.packets = packets,
          .bytes = wire.bytes.get(),
          .queue_dropped = wire.queue_dropped.get(),
          .lost = wire.lost.get(),
          .unread = devices_[index].unread(),
          .mean_late_ns = packets > 0 ? wire.late_sum_ns.get() / packets : 0,
          .max_late_ns = wire.late_most_ns.get(),
          .late = wire.late.get()};
}

int64_t LinkEmulator::processor_ns() const {
  clockid_t clock = {};
  timespec time = {};
  auto& thread = const_cast<std::thread&>(thread_);
  if (pthread_getcpuclockid(thread.native_handle(), &clock) != 0 ||
      clock_gettime(clock, &time) != 0) {
    return 0;
  }
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

Status LinkEmulator::health() const {
  for (size_t i = 0; i < wires_.size(); ++i) {
    if (wires_[i]->gone) {
      return Status::Unavailable("a device of link " + std::to_string(i / 2) +
                                 " was taken away while it ran");
    }
  }
  return Status::Ok();
}

void LinkEmulator::Carry() {
  HurryThisThread();
  std::array<epoll_event, 64> events;
  int64_t before_ns = 0;
  while (true) {
    int64_t next_ns = LinkLine::kNever;
    for (const std::unique_ptr<Wire>& wire : wires_) {
      next_ns = std::min(next_ns, wire->line.next_due_ns());
    }
    const bool waiting = next_ns != LinkLine::kNever;
    const timespec pause =
        TimeOf(waiting ? std::max<int64_t>(0, next_ns - kWakeNs - clock_.NowNs()) : 0);
    const int count = epoll_pwait2(events_, events.data(), static_cast<int>(events.size()),
                                   waiting ? &pause : nullptr, nullptr);
    const int64_t now_ns = clock_.NowNs();
    for (int i = 0; i < count; ++i) {
      auto* const wire = static_cast<Wire*>(events[static_cast<size_t>(i)].data.ptr);
      if (wire != nullptr) {
        Take(*wire, now_ns);
      } else if (!FollowOrders()) {
        return;
      }
    }
    for (const std::unique_ptr<Wire>& wire : wires_) Deliver(*wire);
    if (now_ns - before_ns < 2 * kGapNs) {
      const timespec until = TimeOf(now_ns + kGapNs);
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
    }
    before_ns = now_ns;
  }
}

// False when there will be no more.
bool LinkEmulator::FollowOrders() {
  Order order;
  ssize_t size = 0;
  while ((size = read(orders_[0], &order, sizeof(order))) == static_cast<ssize_t>(sizeof(order))) {
    wires_[order.wire]->line.Change(clock_.NowNs(), order.setting);
  }
  return size != 0;
}

void LinkEmulator::Take(Wire& wire, int64_t now_ns) {
  std::array<std::byte, TunDevice::kPacketBytes> nowhere;
  for (int i = 0; i < kBatch; ++i) {
    const std::span<std::byte> room = wire.packets.Room();
    const bool full = room.empty();
    const std::span<std::byte> into = full ? std::span<std::byte>(nowhere) : room;
    const ssize_t size = read(wire.from, into.data(), into.size());
    if (size < static_cast<ssize_t>(TunDevice::kHeaderBytes)) {
      if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
      epoll_ctl(events_, EPOLL_CTL_DEL, wire.from, nullptr);
      wire.gone = true;
      return;
    }
    const WireSize on_wire = SizeOnWire(into.first(static_cast<size_t>(size)));
    const LinkLine::Fate fate =
        full ? LinkLine::Fate::kQueueFull : wire.line.Enter(now_ns, on_wire.bytes);
    switch (fate) {
      case LinkLine::Fate::kCarried:
        wire.packets.Push(static_cast<size_t>(size));
        break;
      case LinkLine::Fate::kQueueFull:
        wire.queue_dropped.Add(on_wire.packets);
        break;
      case LinkLine::Fate::kLost:
        wire.lost.Add(on_wire.packets);
        break;
    }
  }
}

void LinkEmulator::Deliver(Wire& wire) {
  while (!wire.packets.empty()) {
    const int64_t late_ns = clock_.NowNs() - wire.line.next_due_ns();
    if (late_ns < -kAheadNs) return;
    const std::span<const std::byte> packet = wire.packets.Front();
    const WireSize on_wire = SizeOnWire(packet);
    // A device that is down takes nothing; the kernel counts that.
    [[maybe_unused]] const ssize_t written = write(wire.to, packet.data(), packet.size());
    wire.packets.Pop();
    wire.line.Leave();
    wire.delivered.Add(on_wire.packets);
    wire.bytes.Add(on_wire.bytes);
    if (late_ns > 0) {
      wire.late_sum_ns.Add(late_ns * on_wire.packets);
      wire.late_most_ns.Set(std::max(wire.late_most_ns.get(), late_ns));
      if (late_ns > kLateNs) wire.late.Add(on_wire.packets);
    }
  }
}

}  // namespace weft::net
