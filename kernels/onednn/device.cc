// SPDX-License-Identifier: Apache-2.0
#include "kernels/onednn/device.h"

#include <omp.h>

#include <cassert>
#include <cstdio>
#include <exception>

namespace weft::onednn {
namespace {

using dnnl::memory;

Isa EffectiveIsa() {
  // An ISA's value has the bits of those it includes.
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto includes = [&](dnnl::cpu_isa other) {
    const auto bits = static_cast<unsigned>(other);
    return (isa & bits) == bits;
  };
  if (includes(dnnl::cpu_isa::avx512_core)) return Isa::kAvx512;
  if (includes(dnnl::cpu_isa::avx2)) return Isa::kAvx2;
  return Isa::kBaseline;
}

}  // namespace

Device::Device(int thread_count)
    : threads(thread_count),
      isa(EffectiveIsa()),
      block(isa == Isa::kAvx512 ? 16 : 8),
      engine(dnnl::engine::kind::cpu, 0),
      stream(engine) {
  omp_set_num_threads(threads);  // also what oneDNN shares its work out by
}

memory::desc ActivationDesc(const Shape& shape, int block) {
  assert(block == 1 || block == 8 || block == 16);
  if (shape.rank() == 2) return PlainDesc({shape[0], shape[1]});
  const auto tag = block == 1   ? memory::format_tag::nchw
                   : block == 8 ? memory::format_tag::nChw8c
                                : memory::format_tag::nChw16c;
  return {{shape[0], shape[1], shape[2], shape[3]}, memory::data_type::f32, tag};
}

memory::desc PlainDesc(memory::dims dims) {
  memory::dims strides(dims.size());
  memory::dim stride = 1;
  for (size_t axis = dims.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= dims[axis];
  }
  return {dims, memory::data_type::f32, strides};
}

Call::Call(const Device& device, std::string name, dnnl::primitive primitive,
           const Arguments& arguments)
    : device_(device), name_(std::move(name)), primitive_(std::move(primitive)) {
  for (const auto& [id, desc] : arguments) {
    memories_.emplace_back(desc, device.engine, nullptr);
    arguments_.push_back({id, memories_.back().get()});
  }
}

void Call::operator()(std::initializer_list<const void*> data) const {
  assert(data.size() == arguments_.size());
  dnnl_status_t status = dnnl_success;
  auto argument = arguments_.begin();
  for (const void* pointer : data) {
    // oneDNN takes inputs, too, without const.
    status = dnnl_memory_set_data_handle(argument->memory, const_cast<void*>(pointer));
    if (status != dnnl_success) break;
    ++argument;
  }
  omp_set_num_threads(device_.threads);  // OpenMP's setting belongs to the calling thread
  if (status == dnnl_success) {
    status = dnnl_primitive_execute(primitive_.get(), device_.stream.get(),
                                    static_cast<int>(arguments_.size()), arguments_.data());
  }
  if (status != dnnl_success) {
    std::fprintf(stderr, "%s: oneDNN refuses to run it, status %d\n", name_.c_str(), status);
    std::terminate();
  }
}

Call MakeReorder(const Device& device, const memory::desc& from, const memory::desc& to) {
  const dnnl::reorder::primitive_desc plan(device.engine, from, device.engine, to,
                                           UserScratchpad());
  // The library's reorders between float tensors have no scratchpad worth the name; one that had
  // would not be run here.
  if (plan.scratchpad_desc().get_size() != 0) {
    throw dnnl::error(dnnl_unimplemented, "a reorder that wants a scratchpad");
  }
  return Call(device, "onednn reorder", dnnl::reorder(plan),
              {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

dnnl::primitive_attr UserScratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

}  // namespace weft::onednn
