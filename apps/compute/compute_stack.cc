// SPDX-License-Identifier: Apache-2.0
#include "apps/compute/compute_stack.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "apps/compute/process_memory.h"
#include "core/thread_pool.h"
#include "kernels/ref/backend.h"

#ifdef WEFT_HAS_ACL
#include "kernels/acl/backend.h"
#endif

#ifdef WEFT_HAS_NNPACK
#include "kernels/nnpack/backend.h"
#endif

#ifdef WEFT_HAS_ONEDNN
#include "kernels/onednn/backend.h"
#include "kernels/onednn/omp_parallel.h"
#endif

namespace weft::apps {

namespace {

// The backends that `wanted` names, without ref.
Result<std::vector<std::string>> Ordered(const std::string& wanted) {
  const std::vector<std::string> built = BuiltBackends();
  std::vector<std::string> order;
  std::istringstream words(wanted == "auto" ? "" : wanted);
  for (std::string word; std::getline(words, word, ',');) {
    if (std::find(built.begin(), built.end(), word) == built.end()) {
      std::string known = "auto";
      for (const std::string& name : built) known += ", " + name;
      return Status::InvalidInput("this build has no backend '" + word + "'; choose one of " +
                                  known);
    }
    if (std::find(order.begin(), order.end(), word) == order.end()) order.push_back(word);
  }
  if (wanted == "auto") order = built;
  std::erase(order, "ref");
  return order;
}

}  // namespace

std::vector<std::string> BuiltBackends() {
  return {
#ifdef WEFT_HAS_ONEDNN
      "onednn",
#endif
#ifdef WEFT_HAS_ACL
      "acl",
#endif
#ifdef WEFT_HAS_NNPACK
      "nnpack",
#endif
      "ref"};
}

Result<std::unique_ptr<ComputeStack>> ComputeStack::Create(const ComputeSetting& setting,
                                                           const Clock& clock) {
  ReturnFreedMemory();
  const int processors = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int threads = setting.threads > 0 ? setting.threads : processors;
  Result<std::vector<std::string>> order = Ordered(setting.backend);
  if (!order.ok()) return order.status();
  std::unique_ptr<ComputeStack> stack(new ComputeStack());
#ifdef WEFT_HAS_ONEDNN
  if (std::find(order->begin(), order->end(), "onednn") != order->end()) {
    stack->parallel_ = std::make_unique<onednn::OmpParallel>(threads);
  }
#endif
  if (!stack->parallel_) stack->parallel_ = std::make_unique<ThreadPool>(threads);
  for ([[maybe_unused]] const std::string& name : *order) {
#ifdef WEFT_HAS_ONEDNN
    if (name == "onednn") {
      stack->backends_.push_back(std::make_unique<onednn::OnednnBackend>(threads));
    }
#endif
#ifdef WEFT_HAS_ACL
    if (name == "acl") {
      stack->backends_.push_back(std::make_unique<acl::AclBackend>(*stack->parallel_));
    }
#endif
#ifdef WEFT_HAS_NNPACK
    if (name == "nnpack") {
      stack->backends_.push_back(std::make_unique<nnpack::NnpackBackend>(threads));
    }
#endif
  }
  stack->backends_.push_back(std::make_unique<ref::RefBackend>(*stack->parallel_));

  std::vector<Backend*> backends;
  for (const auto& backend : stack->backends_) backends.push_back(backend.get());
  stack->registry_ = std::make_unique<Registry>(
      backends, clock,
      Registry::Options{.exact = setting.exact, .threads = threads, .measure = setting.measure});
  stack->times_file_ = setting.times_file;
  stack->LearnTimesFrom(setting.times_file);
  return stack;
}

void ComputeStack::KeepTimesIn(const std::string& file) const {
  if (file.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), ignored);
  const std::string scratch = file + ".new";
  std::ofstream stream(scratch);
  stream << registry_->TimesText();
  stream.close();
  if (stream) std::filesystem::rename(scratch, file, ignored);
}

void ComputeStack::LearnTimesFrom(const std::string& file) {
  if (file.empty()) return;
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  registry_->LearnTimes(text.str());
}

std::string DefaultTimesFile() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return std::string(cache) + "/weft/kernel-times";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return std::string(home) + "/.cache/weft/kernel-times";
  return "";
}

}  // namespace weft::apps
