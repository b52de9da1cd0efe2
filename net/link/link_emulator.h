// SPDX-License-Identifier: Apache-2.0
// Links between network namespaces of this machine, each with a rate, delay, jitter, loss and queue
// for each direction, which may change while they run. One thread carries the packets of all of
// them, ahead of other work where it may (SCHED_FIFO): it takes part of a processor, and what it
// could not do in time is in the counters.
//
// To be cheap, it works in steps of 0.3 ms while there is much to do: a packet is then seen up to
// that much after it was sent, and delivered up to 0.23 ms before its time together with others,
// which cancels out on average. A packet that is alone is in time within some 50 us. The rate is
// exact. Where nothing is to be lost, TCP segments travel in pieces of up to 0.2 ms of the line's
// time, which is more than one above 120 Mb/s; a piece arrives, or finds the queue full, as a
// whole.
#pragma once

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/status.h"
#include "net/link/link_setting.h"
#include "net/link/tun_device.h"

namespace weft::net {

struct LinkPlan {
  LinkEnd edge;
  LinkEnd cloud;
  LinkSetting up;    // from edge to cloud
  LinkSetting down;  // from cloud to edge
  int mtu = 1500;
};

// Thread: one, but for counters and processor_ns, which any may call.
class LinkEmulator {
 public:
  // Runs when it returns. What is lost and delayed depends on nothing but the seed and the packets.
  // Unavailable if the machine does not let us, or is older than Linux 5.11.
  static Result<std::unique_ptr<LinkEmulator>> Create(const std::vector<LinkPlan>& links,
                                                      uint64_t seed);

  // The devices go, and with them what is still on the way.
  ~LinkEmulator();
  LinkEmulator(const LinkEmulator&) = delete;
  LinkEmulator& operator=(const LinkEmulator&) = delete;

  size_t links() const { return wires_.size() / 2; }

  // At once. InvalidInput, and nothing changes, for a setting out of range.
  Status Change(size_t link, LinkDirection direction, const LinkSetting& setting);

  LinkCounters counters(size_t link, LinkDirection direction) const;
  // What the thread used: the kernel's work for receiving TCP, which happens on it, included.
  int64_t processor_ns() const;
  // Unavailable if somebody took a device away: its link carries nothing any more.
  Status health() const;

 private:
  struct Wire;
  struct Order;

  LinkEmulator();
  Status Start(const std::vector<LinkPlan>& links, uint64_t seed);

  // Thread: the emulator's.
  void Carry();
  bool FollowOrders();
  void Take(Wire& wire, int64_t now_ns);
  void Deliver(Wire& wire);

  // Fixed after Start.
  const SteadyClock clock_;                   // which is what epoll and nanosleep go by
  std::vector<TunDevice> devices_;            // edge and cloud of each link in turn
  std::vector<std::unique_ptr<Wire>> wires_;  // up and down of each link in turn
  int events_ = -1;                           // epoll
  int orders_[2] = {-1, -1};                  // a pipe; closed to stop

  std::thread thread_;
};

}  // namespace weft::net
