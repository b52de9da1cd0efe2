// SPDX-License-Identifier: Apache-2.0
// Runs weft-edge in this process as if its arguments had been typed, in a folder of its own, and
// keeps what it says.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "apps/weft_edge/edge.h"
#include "core/rng.h"
#include "tests/files/scratch_folder.h"

namespace weft::apps {

struct EdgeAnswer {
  int exit_code = 0;
  std::string out;
  std::string err;

  // One sentence for people, and nothing else.
  bool OneLineOnErr() const {
    return err.starts_with("weft-edge: ") && std::count(err.begin(), err.end(), '\n') == 1 &&
           err.ends_with("\n");
  }
  std::vector<nlohmann::json> Objects() const {
    std::vector<nlohmann::json> objects;
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);) {
      objects.push_back(nlohmann::json::parse(line));
    }
    return objects;
  }
  // Of the last object of a run with --json, or empty.
  std::string ModelHash() const {
    const std::vector<nlohmann::json> objects = Objects();
    return objects.empty() ? "" : objects.back().value("model_hash", "");
  }
};

// Where a test's runs take place. Kernel timings are kept there too, so that all of them choose
// the same kernels, and not among those of whoever runs the test.
class EdgeFolder {
 public:
  EdgeFolder() { setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1); }

  std::string Path(const std::string& name) const { return folder_.Path(name); }

  // Twelve steps of lenet5 on eight synthetic digits each, every one a JSON line; on one thread,
  // because other tests run beside it. A flag of `more` replaces the same one here.
  static std::vector<std::string> Lenet(const std::vector<std::string>& more = {}) {
    std::vector<std::string> all = {"train", "--local", "--json"};
    const std::pair<const char*, const char*> flags[] = {{"--model", "lenet5"},
                                                         {"--data", "synthetic:1x28x28:10:64"},
                                                         {"--batch", "8"},
                                                         {"--steps", "12"},
                                                         {"--threads", "1"}};
    for (const auto& [flag, value] : flags) {
      if (std::find(more.begin(), more.end(), flag) != more.end()) continue;
      all.insert(all.end(), {flag, value});
    }
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  // The run is asked to stop once it has printed `stop_after` lines.
  static EdgeAnswer Type(const std::vector<std::string>& arguments, int stop_after = INT32_MAX) {
    std::atomic<bool> stop = false;
    StoppingBuffer buffer(stop, stop_after);
    std::ostream out(&buffer);
    std::ostringstream err;
    const int exit_code = RunEdge(arguments, out, err, {.columns = 80, .colour = false}, stop);
    return {exit_code, buffer.text(), err.str()};
  }

  // An IDX set of `count` digits of 28 x 28 with labels below `classes`, both splits alike.
  std::string WriteDigits(int count, int classes) const {
    Rng rng(5);
    std::string images = {0, 0, 8, 3, 0, 0, 0, static_cast<char>(count), 0, 0, 0, 28, 0, 0, 0, 28};
    std::string labels = {0, 0, 8, 1, 0, 0, 0, static_cast<char>(count)};
    for (int i = 0; i < count * 28 * 28; ++i) images += static_cast<char>(rng.Between(0, 255));
    for (int i = 0; i < count; ++i) labels += static_cast<char>(i % classes);
    const std::string folder = Path("digits");
    std::filesystem::create_directories(folder);
    for (const char* part : {"/train", "/t10k"}) {
      WriteAll(folder + part + "-images-idx3-ubyte", images);
      WriteAll(folder + part + "-labels-idx1-ubyte", labels);
    }
    return folder;
  }

 private:
  class StoppingBuffer final : public std::streambuf {
   public:
    StoppingBuffer(std::atomic<bool>& stop, int lines) : stop_(stop), lines_left_(lines) {}
    const std::string& text() const { return text_; }

   protected:
    int overflow(int c) override {
      text_ += static_cast<char>(c);
      if (c == '\n' && --lines_left_ == 0) stop_ = true;
      return c;
    }

   private:
    std::atomic<bool>& stop_;
    int lines_left_;
    std::string text_;
  };

  ScratchFolder folder_;
};

}  // namespace weft::apps
