// SPDX-License-Identifier: Apache-2.0
// The seam between the scheduler of transfers, which knows what they cost, and whoever carries
// them: parameters come in unit by unit, gradients go out, cut as the plan says.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

// Where transfers are cut, in floats of the model as it travels: unit after unit. Ends rise, and
// the last is the model's.
struct TransferPlan {
  std::vector<int64_t> push_ends = {};
  // Of each push segment: the smaller goes first; equal ones, and all if there are none, by place.
  std::vector<int64_t> push_turns = {};
  std::vector<int64_t> pull_ends = {};
};

// A segment has crossed the link.
struct Arrival {
  bool up = false;
  int64_t begin = 0;  // in floats of the model as it travels
  int64_t bytes = 0;
  int64_t at_ns = 0;     // by the clock of whoever received it; of several servers, by ours
  int64_t heard_ns = 0;  // by our own clock, when we knew
  // By our own clock, when it was handed to the connection; 0: the other side knows.
  int64_t sent_ns = 0;
  bool follows = false;  // it was waiting when the one before it was sent: the link was busy since
};

// Thread: the training thread.
class ParamChannel {
 public:
  virtual ~ParamChannel() = default;
  // Waits for the unit's parameters of the present round and copies them. False: the round is not
  // ours to compute any more.
  virtual bool TakeUnit(int unit, std::span<float> parameters, std::span<float> statistics) = 0;
  // Copies the unit's gradients, and its statistics after this step, and lets them go when their
  // segment is complete. Does not wait.
  virtual void Release(int unit, std::span<const float> gradients,
                       std::span<const float> statistics) = 0;
  // From the next round's transfers on; before the first plan, cut as SliceEnds are.
  virtual void Use(const TransferPlan& plan) = 0;
  // What has arrived since the last call is added to `arrivals`, each direction in order.
  virtual void TakeArrivals(std::vector<Arrival>& arrivals) = 0;
  // Where the other side's slices end, in floats: what is cut elsewhere waits there for its
  // neighbour. Empty: anywhere.
  virtual std::vector<int64_t> SliceEnds() const { return {}; }
  // From here to the other side and back, without what waits on the way; 0: not known yet.
  virtual int64_t round_trip_ns() const = 0;
};

}  // namespace weft
