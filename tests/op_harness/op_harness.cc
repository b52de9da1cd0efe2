// SPDX-License-Identifier: Apache-2.0
#include "tests/op_harness/op_harness.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <variant>

#include "core/parallel.h"
#include "kernels/ref/activation.h"
#include "kernels/ref/backend.h"
#include "kernels/ref/reorder.h"
#include "tests/op_harness/guarded.h"

namespace weft::harness {
namespace {

using Tensors = std::vector<std::vector<float>>;

// A tensor in the layout of the kernel that is to work on it.
struct Tensor {
  std::string what;
  Shape shape;
  int block;
  Guarded memory;
  std::vector<float> before = {};  // what it held, if that must not change
  bool written = false;            // whether it must be written whole

  float* data() { return memory.floats(); }

  std::vector<float> Plain() const {
    std::vector<float> plain(shape.elements());
    ref::Reorder(shape, memory.values().data(), block, plain.data(), 1);
    return plain;
  }

  bool FillerIsZero() const {
    if (shape.rank() != 4) return true;
    const int64_t end = (shape[1] + block - 1) / block * block;
    for (int64_t n = 0; n < shape[0]; ++n) {
      for (int64_t c = shape[1]; c < end; ++c) {
        for (int64_t h = 0; h < shape[2]; ++h) {
          for (int64_t w = 0; w < shape[3]; ++w) {
            if (memory.values()[ref::BlockedPlace(shape, block, n, c, h, w)] != 0) return false;
          }
        }
      }
    }
    return true;
  }

  std::string Breach() const {
    if (!memory.intact()) return "writes outside of " + what;
    if (!before.empty() && !memory.Holds(before)) return "changes " + what;
    if (const int64_t place = written ? memory.FirstPoisoned() : -1; place >= 0) {
      return "leaves NaN at " + std::to_string(place) + " of " + what +
             ": not written, or made of memory that nobody wrote";
    }
    return FillerIsZero() ? "" : "does not keep the filling channels of " + what + " at zero";
  }
};

// The memory of one call. Tensors and bytes stay where they are until it goes.
class CallMemory {
 public:
  Tensor& Read(const char* what, const Shape& shape, std::span<const float> plain, int block) {
    Tensor& tensor = ReadAndWrite(what, shape, plain, block);
    tensor.before.assign(tensor.memory.values().begin(), tensor.memory.values().end());
    return tensor;
  }

  // In place, what is not written cannot be seen: the values tell.
  Tensor& ReadAndWrite(const char* what, const Shape& shape, std::span<const float> plain,
                       int block) {
    Tensor& tensor = Add(what, shape, block, 0);
    ref::Reorder(shape, plain.data(), 1, tensor.data(), block);
    return tensor;
  }

  Tensor& Write(const char* what, const Shape& shape, int block) {
    Tensor& tensor = Add(what, shape, block, 0);
    tensor.written = true;
    return tensor;
  }

  // Parameters and the like: plain, and aligned to a float only.
  Tensor& ReadParam(const char* what, const std::vector<float>& values) {
    Tensor& tensor = ReadAndWriteParam(what, values);
    tensor.before = values;
    return tensor;
  }

  Tensor& ReadAndWriteParam(const char* what, const std::vector<float>& values) {
    Tensor& tensor = Add(what, Shape{static_cast<int64_t>(values.size())}, 1, sizeof(float));
    std::copy(values.begin(), values.end(), tensor.data());
    return tensor;
  }

  Tensor& WriteParam(const char* what, size_t count) {
    Tensor& tensor = Add(what, Shape{static_cast<int64_t>(count)}, 1, sizeof(float));
    tensor.written = true;
    return tensor;
  }

  std::byte* Scratch(size_t bytes) {
    if (bytes == 0) return nullptr;
    return tensors_.emplace_back(Tensor{"scratch", {}, 1, Guarded(bytes)}).memory.data();
  }

  std::string Breach() const {
    for (const Tensor& tensor : tensors_) {
      if (std::string breach = tensor.Breach(); !breach.empty()) return breach;
    }
    return "";
  }

 private:
  Tensor& Add(const char* what, const Shape& shape, int block, size_t skew) {
    const size_t bytes = ActivationElements(shape, block) * sizeof(float);
    return tensors_.emplace_back(Tensor{what, shape, block, Guarded(bytes, skew)});
  }

  std::deque<Tensor> tensors_;
};

// One op taken through its roles.
class OpRun {
 public:
  OpRun(const OpSpec& op, const OpData& data, Places places, OpResult* result)
      : op_(op), data_(data), places_(places), result_(*result) {}

  // Each returns the breach.
  std::string Forward(Kernel& kernel) {
    saved_ = Guarded(kernel.saved_bytes());
    if (data_.again) {  // the second time in a step finds the note of the first
      if (std::string breach = ForwardOnce(kernel, false); !breach.empty()) return breach;
    }
    return ForwardOnce(kernel, data_.again);
  }

  std::string ForwardOnce(Kernel& kernel, bool again) {
    again_ = again;
    return Call(kernel, [&](CallMemory& memory, KernelArgs& args, const Tensors& params) {
      std::vector<const float*> srcs;
      const bool in_place = InPlace(kernel);
      Tensor* dst = nullptr;
      for (size_t i = 0; i < op_.srcs.size(); ++i) {
        const bool overwritten = i == 0 && in_place;
        Tensor& src =
            overwritten ? memory.ReadAndWrite("src", op_.srcs[i], data_.srcs[i], kernel.src_block())
                        : memory.Read("src", op_.srcs[i], data_.srcs[i], kernel.src_block());
        srcs.push_back(src.data());
        if (overwritten) dst = &src;
      }
      if (dst == nullptr) dst = &memory.Write("dst", op_.dst, kernel.dst_block());
      std::vector<const float*> param_data = ReadParams(memory, params);
      std::vector<float*> running;
      std::vector<Tensor*> running_tensors;
      for (const std::vector<float>& values : data_.running) {
        Tensor& tensor = op_.training ? memory.ReadAndWriteParam("running", values)
                                      : memory.ReadParam("running", values);
        running_tensors.push_back(&tensor);
        running.push_back(tensor.data());
      }
      args.srcs = srcs;
      args.dst = dst->data();
      args.params = param_data;
      args.running = running;
      kernel.Run(args);
      result_.dst = dst->Plain();
      result_.running.clear();
      for (const Tensor* tensor : running_tensors) result_.running.push_back(tensor->Plain());
    });
  }

  std::string Backward(Kernel& kernel, Role role) {
    if (kernel.saved_bytes() != 0 && kernel.saved_bytes() != saved_.size()) {
      return "reads " + std::to_string(kernel.saved_bytes()) + " saved bytes where forward left " +
             std::to_string(saved_.size());
    }
    const std::vector<std::byte> note(saved_.data(), saved_.data() + saved_.size());
    std::string breach = CallBackward(kernel, role);
    if (!breach.empty()) return breach;
    return std::equal(note.begin(), note.end(), saved_.data()) ? "" : "changes saved";
  }

 private:
  std::string CallBackward(Kernel& kernel, Role role) {
    const std::vector<float>& dst_values = data_.dst.empty() ? result_.dst : data_.dst;
    const std::vector<float> d_dst_values = GradientFor(dst_values);
    return Call(kernel, [&](CallMemory& memory, KernelArgs& args, const Tensors& params) {
      std::vector<const float*> srcs;
      if (kernel.reads_src()) {
        srcs.push_back(memory.Read("src", op_.srcs[0], data_.srcs[0], kernel.src_block()).data());
      }
      if (kernel.reads_dst()) {
        args.dst = memory.Read("dst", op_.dst, dst_values, kernel.dst_block()).data();
      }
      const bool in_place = role == Role::kBackwardData && InPlace(kernel);
      Tensor& d_dst = in_place
                          ? memory.ReadAndWrite("d_dst", op_.dst, d_dst_values, kernel.dst_block())
                          : memory.Read("d_dst", op_.dst, d_dst_values, kernel.dst_block());
      args.d_dst = d_dst.data();
      std::vector<const float*> param_data = ReadParams(memory, params);

      std::vector<Tensor*> d_src_tensors;
      if (role == Role::kBackwardData) {
        for (const Shape& shape : op_.srcs) {
          const bool overwrites = in_place && d_src_tensors.empty();
          d_src_tensors.push_back(overwrites ? &d_dst
                                             : &memory.Write("d_src", shape, kernel.src_block()));
        }
      }
      std::vector<Tensor*> d_param_tensors;
      if (role == Role::kBackwardWeights || std::holds_alternative<model::BatchNorm>(op_.layer)) {
        for (const std::vector<float>& values : params) {
          d_param_tensors.push_back(&memory.WriteParam("d_param", values.size()));
        }
      }
      std::vector<float*> d_srcs = Pointers(d_src_tensors);
      std::vector<float*> d_params = Pointers(d_param_tensors);
      args.srcs = srcs;
      args.params = param_data;
      args.d_srcs = d_srcs;
      args.d_params = d_params;
      kernel.Run(args);
      if (!d_src_tensors.empty()) result_.d_srcs = PlainValues(d_src_tensors);
      if (!d_param_tensors.empty()) result_.d_params = PlainValues(d_param_tensors);
    });
  }

  // Sets out what every role is given, calls body and looks at the memory afterwards. A kernel that
  // keeps memory of its own sees other parameters first, and those that count twice.
  template <typename Body>
  std::string Call(Kernel& kernel, const Body& body) {
    Guarded own(kernel.own_bytes());
    own.Fill(std::byte{0});
    const bool keeps = kernel.own_bytes() > 0;
    const std::vector<uint64_t> versions =
        keeps ? std::vector<uint64_t>{1, 2, 2} : std::vector<uint64_t>{1};
    for (uint64_t version : versions) {
      Tensors params = data_.params;
      if (version != versions.back()) {
        for (std::vector<float>& values : params) std::reverse(values.begin(), values.end());
      }
      CallMemory memory;
      KernelArgs args;
      args.saved = kernel.saved_bytes() > 0 ? saved_.data() : nullptr;
      args.scratch = memory.Scratch(kernel.scratch_bytes());
      args.own = keeps ? own.data() : nullptr;
      args.params_version = version;
      args.draw = data_.draw;
      args.again = again_;
      body(memory, args, params);
      std::string breach = memory.Breach();
      if (!saved_.intact()) breach = "writes outside of saved";
      if (!own.intact()) breach = "writes outside of own";
      if (!breach.empty()) return breach;
    }
    return "";
  }

  static std::vector<const float*> ReadParams(CallMemory& memory, const Tensors& params) {
    std::vector<const float*> pointers;
    for (const auto& values : params) pointers.push_back(memory.ReadParam("param", values).data());
    return pointers;
  }

  static std::vector<float*> Pointers(const std::vector<Tensor*>& tensors) {
    std::vector<float*> pointers;
    for (Tensor* tensor : tensors) pointers.push_back(tensor->data());
    return pointers;
  }

  // In place, d_src lies in a tensor that knows itself as d_dst; one Plain fits both, as both hold
  // the same number of values in the same order.
  static Tensors PlainValues(const std::vector<Tensor*>& tensors) {
    Tensors values;
    for (const Tensor* tensor : tensors) values.push_back(tensor->Plain());
    return values;
  }

  bool InPlace(const Kernel& kernel) const {
    return places_ == Places::kInPlace && kernel.in_place() &&
           ActivationElements(op_.srcs[0], kernel.src_block()) ==
               ActivationElements(op_.dst, kernel.dst_block());
  }

  // The gradient as the backward kernels of this op are to see it: BatchNorm passes it through a
  // joined activation itself, for the others the network has done so.
  std::vector<float> GradientFor(const std::vector<float>& dst) const {
    std::vector<float> d_dst = data_.d_dst;
    if (std::holds_alternative<model::BatchNorm>(op_.layer)) return d_dst;
    for (size_t i = 0; i < d_dst.size(); ++i) {
      d_dst[i] = ref::ActivateBackward(op_.activation, dst[i], d_dst[i]);
    }
    return d_dst;
  }

  const OpSpec& op_;
  const OpData& data_;
  const Places places_;
  OpResult& result_;
  Guarded saved_{0};
  bool again_ = false;
};

}  // namespace

OpResult RunOp(const OpSpec& op, const OpData& data, const KernelSet& kernels, Places places) {
  OpResult result;
  OpRun run(op, data, places, &result);
  const std::pair<Kernel*, Role> roles[] = {{kernels.forward, Role::kForward},
                                            {kernels.backward_data, Role::kBackwardData},
                                            {kernels.backward_weights, Role::kBackwardWeights}};
  for (const auto& [kernel, role] : roles) {
    if (kernel == nullptr) continue;
    const std::string breach =
        role == Role::kForward ? run.Forward(*kernel) : run.Backward(*kernel, role);
    if (breach.empty()) continue;
    result.breach = std::string(kernel->name()) + " " + RoleName(role) + " " + breach;
    break;
  }
  return result;
}

OpResult RunRef(const OpSpec& op, const OpData& data) {
  Serial serial;
  ref::RefBackend backend(serial);
  std::array<std::unique_ptr<Kernel>, 3> kernels;
  for (Role role : {Role::kForward, Role::kBackwardData, Role::kBackwardWeights}) {
    auto offer = backend.Offer(op, role);
    if (!offer.empty()) kernels[static_cast<size_t>(role)] = std::move(offer[0]);
  }
  return RunOp(op, data, {kernels[0].get(), kernels[1].get(), kernels[2].get()});
}

}  // namespace weft::harness
