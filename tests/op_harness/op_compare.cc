// SPDX-License-Identifier: Apache-2.0
#include "tests/op_harness/op_compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <sstream>
#include <vector>

#include "core/parallel.h"
#include "kernels/ref/backend.h"
#include "tests/op_harness/op_harness.h"

namespace weft::harness {
namespace {

using Tensors = std::vector<std::vector<float>>;

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

bool SameBits(const Tensors& a, const Tensors& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return SameBits(x, y); });
}

// "" if they are close enough.
std::string Distance(const char* what, const Tensors& got, const Tensors& want, double tolerance) {
  for (size_t i = 0; i < got.size(); ++i) {
    const double error = RelativeError(got[i], i < want.size() ? want[i] : std::vector<float>());
    if (error <= tolerance) continue;
    std::ostringstream text;
    text << " is off by " << error << " of the largest value in " << what << " " << i;
    return text.str();
  }
  return "";
}

std::string Distance(const OpResult& got, const OpResult& want, double tolerance) {
  for (const std::string& distance :
       {Distance("dst", {got.dst}, {want.dst}, tolerance),
        Distance("running", got.running, want.running, tolerance),
        Distance("d_src", got.d_srcs, want.d_srcs, tolerance),
        Distance("d_param", got.d_params, want.d_params, tolerance)}) {
    if (!distance.empty()) return distance;
  }
  return "";
}

bool SameBits(const OpResult& a, const OpResult& b) {
  return SameBits(a.dst, b.dst) && SameBits(a.running, b.running) && SameBits(a.d_srcs, b.d_srcs) &&
         SameBits(a.d_params, b.d_params);
}

// What is wrong with the kernels as a set, or "". It is `who` that is on trial.
std::string Judge(const OpSpec& op, const OpData& data, const KernelSet& kernels,
                  const std::string& who, const OpResult& want, double tolerance) {
  const OpResult got = RunOp(op, data, kernels);
  if (!got.breach.empty()) return got.breach;
  const std::string distance = Distance(got, want, tolerance);
  if (!distance.empty()) return who + distance;
  if (!SameBits(got, RunOp(op, data, kernels))) return who + " gives other bits when run again";
  const OpResult in_place = RunOp(op, data, kernels, Places::kInPlace);
  if (!in_place.breach.empty()) return in_place.breach + " in place";
  return SameBits(got, in_place) ? "" : who + " gives other bits in place";
}

// The forward kernel to run in front of `backward`: one that leaves the note it reads.
Kernel* ForwardFor(const Kernel& backward, std::span<const std::unique_ptr<Kernel>> forwards) {
  for (const auto& forward : forwards) {
    if (backward.saved_format().empty() || forward->saved_format() == backward.saved_format()) {
      return forward.get();
    }
  }
  return nullptr;
}

}  // namespace

double RelativeError(std::span<const float> got, std::span<const float> want) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (got.size() != want.size()) return kInfinity;
  double largest = 0;
  double distance = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::isnan(got[i]) != std::isnan(want[i])) return kInfinity;
    if (std::isnan(want[i]) || got[i] == want[i]) continue;
    distance = std::max(distance, std::fabs(static_cast<double>(got[i]) - want[i]));
  }
  for (float value : want) largest = std::max(largest, std::fabs(static_cast<double>(value)));
  return distance == 0 ? 0 : distance / largest;
}

std::string CompareWithRef(const OpSpec& op, Backend& backend, const Tolerance& tolerance,
                           Fill fill, int* compared) {
  Serial serial;
  ref::RefBackend reference(serial);
  OpData data = MakeData(op, fill);
  const OpResult want = RunRef(op, data);
  if (!want.breach.empty()) return Describe(op) + ": " + want.breach;
  // A value that rounds to the other side of a kink must not let the gradients go apart.
  data.dst = want.dst;

  const auto forwards = backend.Offer(op, Role::kForward);
  const auto reference_forwards = reference.Offer(op, Role::kForward);
  for (Role role : {Role::kForward, Role::kBackwardData, Role::kBackwardWeights}) {
    for (const std::unique_ptr<Kernel>& kernel : backend.Offer(op, role)) {
      const std::string who = std::string(kernel->name()) + " " + RoleName(role);
      KernelSet kernels;
      kernels.forward = role == Role::kForward ? kernel.get() : ForwardFor(*kernel, forwards);
      if (kernels.forward == nullptr) kernels.forward = ForwardFor(*kernel, reference_forwards);
      if (kernels.forward == nullptr) {
        return Describe(op) + ": " + who + " reads a note that no forward kernel leaves";
      }
      if (role == Role::kBackwardData) kernels.backward_data = kernel.get();
      if (role == Role::kBackwardWeights) kernels.backward_weights = kernel.get();
      const double limit =
          kernel->exact() && kernels.forward->exact() ? tolerance.exact : tolerance.inexact;
      std::string wrong = Judge(op, data, kernels, who, want, limit);
      if (wrong.empty() && role == Role::kForward && !data.running.empty()) {
        OpData again = data;
        again.again = true;
        wrong = Judge(op, again, kernels, who, RunRef(op, again), limit);
      }
      if (!wrong.empty()) return Describe(op) + ": " + wrong;
      if (compared != nullptr) ++*compared;
    }
  }
  return "";
}

}  // namespace weft::harness
