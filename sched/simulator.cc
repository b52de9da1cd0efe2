// SPDX-License-Identifier: Apache-2.0
// Every line (link, broker, server) serves first-in first-out, so a message's passage is known
// when it enters: start = max(now, line free). Only weave's senders choose; they hold messages
// back in a priority gate and let in as many as keep the line busy. Choices are made after
// everything that happens at the same nanosecond has been taken in.
#include "sched/simulator.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <queue>

#include "core/rng.h"

namespace weft::sched {
namespace {

enum class EventKind : uint8_t {
  kComputed,      // a run of forward units
  kReleased,      // backward has reached the next push messages
  kUpAtBroker,    // message has crossed the worker's link
  kUpAtServer,    // message has crossed the broker, or the link where there is none
  kSummed,        // the server has added it
  kDownAtBroker,  // message has crossed the hop from server to broker
  kDownAtWorker,  // message is there
  kUpCredit,      // the way up can take another message
  kDownCredit,    // the way down can take another message
};

struct Event {
  Nanos at_ns;
  uint64_t order;  // events of one nanosecond happen in the order they were made
  int worker;
  int message;
  EventKind kind;

  bool operator>(const Event& other) const {
    return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
  }
};

// Passes through a first-in first-out line; returns when the message is out.
Nanos Pass(Nanos& line_free, Nanos now, Nanos occupancy) {
  line_free = std::max(line_free, now) + occupancy;
  return line_free;
}

// Messages that wait for their turn at a weave sender, by rank: the lowest goes first.
class Gate {
 public:
  void Reset(size_t messages, int credit) {
    waiting_.assign((messages + 63) / 64, 0);
    credit_ = credit;
  }
  void Add(int rank) { waiting_[rank / 64] |= uint64_t{1} << (rank % 64); }
  void ReturnCredit() { ++credit_; }
  // The rank of the message that may go next, or -1.
  int Take() {
    if (credit_ == 0) return -1;
    for (size_t word = 0; word < waiting_.size(); ++word) {
      if (waiting_[word] == 0) continue;
      const int bit = __builtin_ctzll(waiting_[word]);
      waiting_[word] &= waiting_[word] - 1;
      --credit_;
      return static_cast<int>(word) * 64 + bit;
    }
    return -1;
  }

 private:
  std::vector<uint64_t> waiting_;  // a bit per rank
  int credit_ = 0;
};

struct Worker {
  int compute_permille = 1000;
  int link_permille = 1000;
  int round = 0;
  int next_unit = 1;  // of forward
  bool computing = false;
  size_t released = 0;       // how many entries of release order are out
  Nanos backward_begin = 0;  // of the current round
  Nanos up_free = 0;
  Nanos down_free = 0;
  std::vector<int> missing;  // [L]: pull messages a unit of the coming forward still waits for
  Gate up;
  Gate down;
};

class Simulation {
 public:
  Simulation(const CostProfile& profile, const Schedule& schedule, const JobSetting& setting)
      : profile_(profile), schedule_(schedule), setting_(setting), length_(profile.unit_count()) {
    assert(setting.workers >= 1 && setting.rounds >= 1);
    touching_.assign(length_, 0);
    for (const Message& message : schedule.pull) {
      for (int u = message.first_unit; u <= message.last_unit; ++u) ++touching_[u - 1];
    }
    // Gradients of units first..last are complete when backward, which comes from the last unit
    // down, has done `first`. Parts of one unit keep their order.
    for (size_t i = 0; i < schedule.push.size(); ++i) release_order_.push_back(static_cast<int>(i));
    std::stable_sort(release_order_.begin(), release_order_.end(), [&](int a, int b) {
      return schedule.push[a].first_unit > schedule.push[b].first_unit;
    });
    backward_until_.assign(length_ + 1, 0);
    for (int u = length_; u >= 1; --u) {
      backward_until_[u - 1] = backward_until_[u] + profile.units[u - 1].backward_ns;
    }
    push_order_ = schedule.push_order;
    if (push_order_.empty()) {
      push_order_.resize(schedule.push.size());
      std::iota(push_order_.begin(), push_order_.end(), 0);
    }
    push_rank_.resize(push_order_.size());
    for (size_t rank = 0; rank < push_order_.size(); ++rank) {
      push_rank_[push_order_[rank]] = static_cast<int>(rank);
    }
    summed_.assign(schedule.push.size(), 0);
    workers_.resize(setting.workers);
    for (int w = 0; w < setting.workers; ++w) Prepare(workers_[w], w);
  }

  SimReport Run() {
    for (size_t i = 0; i < schedule_.pull.size(); ++i) OfferPull(static_cast<int>(i));
    Dispatch();
    while (report_.commits_ns.size() < static_cast<size_t>(setting_.rounds)) {
      assert(!events_.empty());
      const Event event = events_.top();
      events_.pop();
      now_ = event.at_ns;
      ++report_.events;
      Handle(event);
      if (events_.empty() || events_.top().at_ns > now_) Dispatch();
    }
    Summarise();
    return std::move(report_);
  }

 private:
  void Prepare(Worker& worker, int index) {
    if (setting_.spread_percent > 0) {
      Rng rng(setting_.seed, index);
      worker.compute_permille += static_cast<int>(rng.Between(0, setting_.spread_percent * 10));
      worker.link_permille += static_cast<int>(rng.Between(0, setting_.spread_percent * 10));
    }
    worker.missing = touching_;
    // Enough to keep every line of the way busy, and no more: what has entered cannot be
    // overtaken. With a broker the credit for a push comes back a latency later, so what fits
    // into that is on its way besides.
    worker.up.Reset(schedule_.push.size(), profile_.broker ? 2 + PushesInLatency() : 1);
    worker.down.Reset(schedule_.pull.size(), profile_.broker ? 2 : 1);
  }

  int PushesInLatency() const {
    Nanos all = 0;
    for (const Message& message : schedule_.push) all += message.link_ns;
    const Nanos mean = all / static_cast<Nanos>(schedule_.push.size());
    const Nanos fit = profile_.push_latency_ns() / std::max<Nanos>(mean, 1);
    return static_cast<int>(std::min<Nanos>(fit, static_cast<Nanos>(schedule_.push.size())));
  }

  static Nanos Scaled(Nanos ns, int permille) {
    return permille == 1000 ? ns : ns / 1000 * permille + ns % 1000 * permille / 1000;
  }

  void At(Nanos at_ns, EventKind kind, int worker, int message) {
    events_.push({at_ns, order_++, worker, message, kind});
  }

  void Record(int worker, Lane lane, int round, int first, int last, Nanos begin, Nanos end) {
    if (worker == 0) report_.timeline.push_back({lane, round, first, last, begin, end});
  }

  void Handle(const Event& event) {
    Worker& worker = workers_[event.worker];
    switch (event.kind) {
      case EventKind::kComputed:
        worker.computing = false;
        if (worker.next_unit > length_) {
          BeginBackward(worker, event.worker);
        } else {
          ComputeForward(worker, event.worker);
        }
        break;
      case EventKind::kReleased:
        ReleaseGradients(worker, event.worker);
        break;
      case EventKind::kUpAtBroker: {
        const Nanos out = Pass(broker_up_free_, now_, schedule_.push[event.message].broker_ns);
        At(out, EventKind::kUpAtServer, event.worker, event.message);
        if (schedule_.weave) At(out, EventKind::kUpCredit, event.worker, event.message);
        break;
      }
      case EventKind::kUpAtServer:
        if (setting_.server_bytes_per_s > 0) {
          const Nanos cost =
              TransferNs(schedule_.push[event.message].bytes, setting_.server_bytes_per_s);
          At(Pass(server_free_, now_, cost), EventKind::kSummed, event.worker, event.message);
          break;
        }
        [[fallthrough]];
      case EventKind::kSummed:
        Sum(event.message);
        break;
      case EventKind::kDownAtBroker:
        PassDownLink(worker, event.worker, event.message);
        break;
      case EventKind::kDownAtWorker: {
        const Message& message = schedule_.pull[event.message];
        for (int u = message.first_unit; u <= message.last_unit; ++u) --worker.missing[u - 1];
        ComputeForward(worker, event.worker);
        break;
      }
      case EventKind::kUpCredit:
        worker.up.ReturnCredit();
        dirty_up_.push_back(event.worker);
        break;
      case EventKind::kDownCredit:
        worker.down.ReturnCredit();
        dirty_down_.push_back(event.worker);
        break;
    }
  }

  // Computes all units from next_unit on whose parameters are there, if the worker is free.
  void ComputeForward(Worker& worker, int index) {
    if (worker.computing || worker.next_unit > length_) return;
    Nanos end = now_;
    while (worker.next_unit <= length_ && worker.missing[worker.next_unit - 1] == 0) {
      const int u = worker.next_unit++;
      const Nanos begin = end;
      end += Scaled(profile_.units[u - 1].forward_ns, worker.compute_permille);
      Record(index, Lane::kForward, worker.round, u, u, begin, end);
      worker.computing = true;
    }
    if (worker.computing) At(end, EventKind::kComputed, index, 0);
  }

  void BeginBackward(Worker& worker, int index) {
    if (index == 0) forward_ends_.push_back(now_);
    worker.missing = touching_;  // from now on pulls belong to the next round
    worker.computing = true;
    worker.backward_begin = now_;
    worker.released = 0;
    for (int u = length_; u >= 1; --u) {
      Record(index, Lane::kBackward, worker.round, u, u, BackwardEnd(worker, u + 1),
             BackwardEnd(worker, u));
    }
    ScheduleRelease(worker, index);
  }

  // When backward has done units L..u of the current round.
  Nanos BackwardEnd(const Worker& worker, int u) const {
    return worker.backward_begin + Scaled(backward_until_[u - 1], worker.compute_permille);
  }

  void ScheduleRelease(Worker& worker, int index) {
    const int unit = schedule_.push[release_order_[worker.released]].first_unit;
    At(BackwardEnd(worker, unit), EventKind::kReleased, index, 0);
  }

  void ReleaseGradients(Worker& worker, int index) {
    const int unit = schedule_.push[release_order_[worker.released]].first_unit;
    while (worker.released < release_order_.size() &&
           schedule_.push[release_order_[worker.released]].first_unit == unit) {
      const int message = release_order_[worker.released++];
      if (schedule_.weave) {
        worker.up.Add(push_rank_[message]);
      } else {
        PassUpLink(worker, index, message);
      }
    }
    if (schedule_.weave) dirty_up_.push_back(index);
    if (worker.released < release_order_.size()) {
      ScheduleRelease(worker, index);
      return;
    }
    if (index == 0) backward_ends_.push_back(now_);
    worker.computing = false;
    worker.next_unit = 1;
    ++worker.round;
    ComputeForward(worker, index);
  }

  void PassUpLink(Worker& worker, int index, int message) {
    const Message& m = schedule_.push[message];
    const Nanos occupancy = Scaled(m.link_ns, worker.link_permille);
    const Nanos out = Pass(worker.up_free, now_, occupancy);
    const int round = static_cast<int>(report_.commits_ns.size());
    if (index == 0 && round == setting_.rounds - 1) report_.push_order.push_back(message);
    Record(index, Lane::kPush, round, m.first_unit, m.last_unit, out - occupancy, out);
    const Nanos there = out + profile_.push_latency_ns();
    At(there, profile_.broker ? EventKind::kUpAtBroker : EventKind::kUpAtServer, index, message);
    if (schedule_.weave && !profile_.broker) At(out, EventKind::kUpCredit, index, message);
  }

  void PassDownLink(Worker& worker, int index, int message) {
    const Message& m = schedule_.pull[message];
    const Nanos occupancy = Scaled(m.link_ns, worker.link_permille);
    const Nanos out = Pass(worker.down_free, now_, occupancy);
    const Nanos there = out + profile_.pull_latency_ns();
    // The round whose forward waits for it: the next one while backward still runs.
    const int round = worker.round + (worker.next_unit > length_ ? 1 : 0);
    Record(index, Lane::kPull, round, m.first_unit, m.last_unit, there - occupancy, there);
    At(there, EventKind::kDownAtWorker, index, message);
    if (schedule_.weave) At(out, EventKind::kDownCredit, index, message);
  }

  void Sum(int message) {
    if (++summed_[message] < setting_.workers) return;
    summed_[message] = 0;
    const bool whole_model = ++messages_summed_ == schedule_.push.size();
    if (whole_model) {
      messages_summed_ = 0;
      report_.commits_ns.push_back(now_);
    }
    if (schedule_.weave) {
      OfferPull(message);
    } else if (whole_model) {
      for (size_t i = 0; i < schedule_.pull.size(); ++i) OfferPull(static_cast<int>(i));
    }
  }

  // Parameters of `message` may go to every worker.
  void OfferPull(int message) {
    for (int w = 0; w < setting_.workers; ++w) {
      if (schedule_.weave) {
        workers_[w].down.Add(message);
        dirty_down_.push_back(w);
      } else {
        EnterDown(workers_[w], w, message);
      }
    }
  }

  void EnterDown(Worker& worker, int index, int message) {
    if (profile_.broker) {
      const Nanos out = Pass(broker_down_free_, now_, schedule_.pull[message].broker_ns);
      At(out, EventKind::kDownAtBroker, index, message);
    } else {
      PassDownLink(worker, index, message);
    }
  }

  // Lets the gates that changed send what they may.
  void Dispatch() {
    for (int w : dirty_up_) {
      for (int rank = workers_[w].up.Take(); rank >= 0; rank = workers_[w].up.Take()) {
        PassUpLink(workers_[w], w, push_order_[rank]);
      }
    }
    dirty_up_.clear();
    for (int w : dirty_down_) {
      for (int m = workers_[w].down.Take(); m >= 0; m = workers_[w].down.Take()) {
        EnterDown(workers_[w], w, m);
      }
    }
    dirty_down_.clear();
  }

  void Summarise() {
    const size_t rounds = report_.commits_ns.size();
    const size_t settled = rounds / 2;  // rounds 0..settled-1 are the warm-up
    // Phase borders of round r: where its forward and its backward begin and end.
    const auto forward_begin = [&](size_t r) -> Nanos {
      if (schedule_.weave) return r == 0 ? 0 : backward_ends_[r - 1];
      return (r == 0 ? 0 : report_.commits_ns[r - 1]) + profile_.pull_latency_ns();
    };
    const auto backward_end = [&](size_t r) -> Nanos {
      return schedule_.weave ? backward_ends_[r]
                             : report_.commits_ns[r] - profile_.push_latency_ns();
    };
    Nanos forward = 0;
    Nanos backward = 0;
    for (size_t r = settled; r < rounds; ++r) {
      forward += forward_ends_[r] - forward_begin(r);
      backward += backward_end(r) - forward_ends_[r];
    }
    const Nanos count = static_cast<Nanos>(rounds - settled);
    const Nanos before = settled == 0 ? 0 : report_.commits_ns[settled - 1];
    report_.iteration_ns = (report_.commits_ns.back() - before) / count;
    report_.forward_ns = forward / count;
    report_.backward_ns = backward / count;
    const size_t last = rounds - 1;
    report_.forward = PortionsOf(report_.timeline, forward_begin(last), forward_ends_[last]);
    report_.backward = PortionsOf(report_.timeline, forward_ends_[last], backward_end(last));
    report_.last_begin_ns = forward_begin(last);
    report_.last_end_ns = backward_end(last);
  }

  // Fixed after construction.
  const CostProfile& profile_;
  const Schedule& schedule_;
  const JobSetting& setting_;
  const int length_;
  std::vector<int> touching_;          // [L]: pull messages that carry something of a unit
  std::vector<int> release_order_;     // push messages as backward completes them
  std::vector<int> push_order_;        // push messages by rank
  std::vector<int> push_rank_;         // and the rank of each
  std::vector<Nanos> backward_until_;  // [L+1]: backward time of units u+1..L

  Nanos now_ = 0;
  uint64_t order_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<Worker> workers_;
  Nanos broker_up_free_ = 0;
  Nanos broker_down_free_ = 0;
  Nanos server_free_ = 0;
  std::vector<int> summed_;  // per push message, copies of this round that are in
  size_t messages_summed_ = 0;
  std::vector<int> dirty_up_;
  std::vector<int> dirty_down_;
  std::vector<Nanos> forward_ends_;   // of the first worker, by round
  std::vector<Nanos> backward_ends_;  // of the first worker, by round
  SimReport report_;
};

}  // namespace

Status CheckJob(const CostProfile& profile, const JobSetting& setting) {
  assert(setting.workers >= 1 && setting.rounds >= 1);
  // In doubles: this only has to notice orders of magnitude.
  double own = static_cast<double>(profile.latency_ns);
  double shared = 0;
  for (const UnitCost& unit : profile.units) {
    own += static_cast<double>(unit.forward_ns + unit.backward_ns + unit.pull_ns + unit.push_ns +
                               profile.pull_overhead_ns + profile.push_overhead_ns);
    shared += 2 * static_cast<double>(BrokerNs(profile, unit.bytes));
    if (setting.server_bytes_per_s > 0) {
      shared += static_cast<double>(TransferNs(unit.bytes, setting.server_bytes_per_s));
    }
  }
  const double round = own * (1 + setting.spread_percent / 100.0) + shared * setting.workers;
  if (round <= static_cast<double>(kMaxIterationNs)) return Status::Ok();
  return Status::InvalidInput("one round of " + std::to_string(setting.workers) +
                              " workers may take longer than 11 days; use fewer workers, a smaller "
                              "spread, or a faster broker and server");
}

SimReport Simulate(const CostProfile& profile, const Schedule& schedule,
                   const JobSetting& setting) {
  return Simulation(profile, schedule, setting).Run();
}

}  // namespace weft::sched
