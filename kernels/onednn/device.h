// SPDX-License-Identifier: Apache-2.0
// The processor as oneDNN sees it, and its primitives as calls on bare pointers. Exceptions of
// oneDNN come out of the constructors and Create functions here; backend.cc catches them.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "core/shape.h"

namespace weft::onednn {

// How wide the loops of this folder are compiled. oneDNN's own kernels choose for themselves.
enum class Isa { kBaseline, kAvx2, kAvx512 };

// Thread: the owner of the backend. Outlives the kernels made with it.
struct Device {
  explicit Device(int threads);

  int threads;
  Isa isa;
  int block;  // of the activations' channels: as many floats as a vector has
  dnnl::engine engine;
  dnnl::stream stream;
};

// An activation of `shape` in channel blocks of 1, 8 or 16, as core/kernel.h lays them out.
dnnl::memory::desc ActivationDesc(const Shape& shape, int block);

// A dense tensor in the order of its dimensions.
dnnl::memory::desc PlainDesc(dnnl::memory::dims dims);

// A primitive with a memory object for each of its arguments, so that calling it only sets
// pointers. A failing call is a bug and ends the process, naming `name`.
class Call {
 public:
  using Arguments = std::vector<std::pair<int, dnnl::memory::desc>>;  // DNNL_ARG_*, what it is

  Call(const Device& device, std::string name, dnnl::primitive primitive,
       const Arguments& arguments);

  // One pointer for each argument, in the order in which they were given.
  void operator()(std::initializer_list<const void*> data) const;

 private:
  const Device& device_;
  std::string name_;
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

// Copies a tensor from one layout to another: {from, to}.
Call MakeReorder(const Device& device, const dnnl::memory::desc& from,
                 const dnnl::memory::desc& to);

// A primitive's scratchpad is asked for, not allocated behind our back.
dnnl::primitive_attr UserScratchpad();

// Sizes are rounded up to this, so that what follows is aligned too.
constexpr size_t kAlignment = 64;
constexpr size_t Aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace weft::onednn
