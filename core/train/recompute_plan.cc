// SPDX-License-Identifier: Apache-2.0
#include "core/train/recompute_plan.h"

#include <algorithm>
#include <limits>

namespace weft::train {
namespace {

template <typename... Layers>
bool IsOneOf(const model::Layer& layer) {
  return (std::holds_alternative<Layers>(layer) || ...);
}

// A piece of the network: the ops after one cut, up to and with the one at the next.
struct Piece {
  size_t kept = 0;       // bytes of what backward reads, but for what is dropped for free
  size_t read = 0;       // bytes of all that backward reads, but for the values at cuts
  size_t working = 0;    // the most that one op's backward needs besides
  double work = 0;       // to compute it again, in multiply-adds
  size_t most_read = 0;  // as `read`, between any two neighbouring cuts
  double last_work = 0;  // as `work`, between the last two cuts
  size_t at_cuts = 0;    // bytes of the values at the cuts inside
};

class Planner {
 public:
  Planner(const Program& program, const RecomputeFacts& facts, const Room& room)
      : program_(program),
        facts_(facts),
        room_(room),
        free_(DropForFree(program, facts)),
        cuts_(Cuts(program)),
        labels_(cuts_.size()) {}

  std::optional<KeepingPlan> Plan() {
    labels_[0].push_back({.kept = facts_.value_bytes[0]});
    for (size_t from = 0; from + 1 < cuts_.size(); ++from) {
      KeepTheBest(labels_[from]);
      Piece piece;
      for (size_t to = from + 1; to < cuts_.size(); ++to) {
        Extend(piece, cuts_[to - 1], cuts_[to]);
        for (size_t i = 0; i < labels_[from].size(); ++i) {
          if (to == from + 1) Step(from, i, to, piece, Keeping::kKept);
          Step(from, i, to, piece, Keeping::kAgain);
          if (to > from + 1) Step(from, i, to, piece, Keeping::kPassing);
        }
      }
    }
    KeepTheBest(labels_.back());
    if (labels_.back().empty()) return std::nullopt;
    return Trace();
  }

 private:
  // One way to arrive at a cut.
  struct Label {
    size_t kept = 0;  // bytes, from the beginning
    double work = 0;
    size_t from = 0;                 // the cut before
    size_t from_label = 0;           // of its labels
    Keeping piece = Keeping::kKept;  // what becomes of the piece between
  };

  ValueId ValueAt(OpId cut) const { return cut < 0 ? 0 : program_.ops[cut].dst; }

  bool IsFree(ValueId v) const { return free_[v] != Keeping::kKept; }

  // Adds the ops between two neighbouring cuts to the end of a piece.
  void Extend(Piece& piece, OpId begin, OpId end) const {
    if (piece.work > 0) piece.at_cuts += facts_.value_bytes[ValueAt(begin)];
    size_t read = 0;
    piece.last_work = 0;
    for (OpId id = begin + 1; id <= end; ++id) {
      const Op& op = program_.ops[id];
      size_t around = facts_.value_bytes[op.dst] + facts_.scratch_bytes[id];
      for (ValueId src : op.srcs) {
        // Its gradient, and itself where it is made just for this.
        around += facts_.value_bytes[src] * (IsFree(src) ? 2 : 1);
      }
      piece.working = std::max(piece.working, around);
      piece.last_work += ForwardWork(op);
      if (id == end || !facts_.is_read_backward[op.dst]) continue;
      if (!IsCheap(op)) read += facts_.value_bytes[op.dst];
      if (!IsFree(op.dst)) piece.kept += facts_.value_bytes[op.dst];
    }
    piece.read += read;
    piece.most_read = std::max(piece.most_read, read);
    piece.work += piece.last_work;
  }

  void Step(size_t from, size_t label, size_t to, const Piece& piece, Keeping keeping) {
    const Label& before = labels_[from][label];
    const bool kept = keeping == Keeping::kKept;
    // The gradient at the piece's beginning may wait for its end, as a shortcut's does.
    size_t working = piece.working + facts_.value_bytes[ValueAt(cuts_[from])];
    if (!kept) working += piece.at_cuts;
    if (keeping == Keeping::kAgain) working += piece.read;
    if (keeping == Keeping::kPassing) working += piece.most_read;
    const size_t needed = before.kept + (kept ? piece.kept : 0) +
                          static_cast<size_t>(room_.working_share * static_cast<double>(working));
    if (needed > room_.bytes) return;
    const bool last = to + 1 == cuts_.size();
    const ValueId end = ValueAt(cuts_[to]);
    const bool keeps_end = !last && (!kept || (facts_.is_read_backward[end] && !IsFree(end)));
    double work = 0;
    const double end_work = ForwardWork(program_.ops[cuts_[to]]);  // it is kept
    if (keeping == Keeping::kAgain) work = piece.work - end_work;
    if (keeping == Keeping::kPassing) work = 2 * piece.work - piece.last_work - end_work;
    labels_[to].push_back(
        {.kept = before.kept + (kept ? piece.kept : 0) + (keeps_end ? facts_.value_bytes[end] : 0),
         .work = before.work + work,
         .from = from,
         .from_label = label,
         .piece = keeping});
  }

  // Of two ways, the one that keeps no less and works no less goes; and there are only so many.
  static void KeepTheBest(std::vector<Label>& labels) {
    constexpr size_t kMost = 200;
    std::sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) {
      return a.kept != b.kept ? a.kept < b.kept : a.work < b.work;
    });
    std::vector<Label> best;
    for (const Label& label : labels) {
      if (best.empty() || label.work < best.back().work) best.push_back(label);
    }
    while (best.size() > kMost) {
      // Every other one, but never the first, which keeps the least.
      size_t to = 1;
      for (size_t i = 2; i < best.size(); i += 2) best[to++] = best[i];
      best.resize(to);
    }
    labels = std::move(best);
  }

  KeepingPlan Trace() const {
    KeepingPlan plan = free_;
    size_t to = cuts_.size() - 1;
    size_t label = labels_[to].size() - 1;  // the least work
    while (to > 0) {
      const Label& arrived = labels_[to][label];
      if (arrived.piece != Keeping::kKept) {
        for (OpId id = cuts_[arrived.from] + 1; id < cuts_[to]; ++id) {
          if (!IsView(program_.ops[id])) plan[program_.ops[id].dst] = arrived.piece;
        }
        for (size_t inner = arrived.from + 1; inner < to; ++inner) {
          if (!IsView(program_.ops[cuts_[inner]])) plan[ValueAt(cuts_[inner])] = Keeping::kAgain;
        }
        plan[ValueAt(cuts_[to])] = Keeping::kKept;
      }
      to = arrived.from;
      label = arrived.from_label;
    }
    return plan;
  }

  const Program& program_;
  const RecomputeFacts& facts_;
  const Room room_;
  const KeepingPlan free_;
  const std::vector<OpId> cuts_;
  std::vector<std::vector<Label>> labels_;  // by cut
};

}  // namespace

std::vector<OpId> Cuts(const Program& program) {
  std::vector<OpId> cuts = {-1};
  OpId last_read = -1;  // the last op that reads a value made so far, but for the newest
  OpId newest_last_read = -1;
  for (OpId id = 0; id < static_cast<OpId>(program.ops.size()); ++id) {
    last_read = std::max(last_read, newest_last_read);
    const std::vector<OpId>& readers = program.values[program.ops[id].dst].consumers;
    newest_last_read = readers.empty() ? id : *std::max_element(readers.begin(), readers.end());
    if (last_read <= id) cuts.push_back(id);
  }
  return cuts;
}

bool IsCheap(const Op& op) {
  return IsOneOf<model::BatchNorm, model::MaxPool, model::AvgPool, model::Relu, model::Relu6>(
      op.spec.layer);
}

KeepingPlan DropForFree(const Program& program, const RecomputeFacts& facts) {
  KeepingPlan plan(program.values.size(), Keeping::kKept);
  for (const Op& op : program.ops) {
    const ValueId src = op.srcs[0];
    const bool source_stays =
        src != 0 && facts.is_read_backward[src] && plan[src] == Keeping::kKept;
    if (IsCheap(op) && op.dst != program.output() && source_stays) plan[op.dst] = Keeping::kAgain;
  }
  return plan;
}

double ForwardWork(const Op& op) {
  // A pass over a value takes the time of some multiply-adds for each of its elements.
  return static_cast<double>(op.macs) + 8.0 * static_cast<double>(op.spec.dst.elements());
}

std::optional<KeepingPlan> DropToFit(const Program& program, const RecomputeFacts& facts,
                                     const Room& room) {
  return Planner(program, facts, room).Plan();
}

}  // namespace weft::train
