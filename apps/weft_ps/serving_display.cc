// SPDX-License-Identifier: Apache-2.0
#include "apps/weft_ps/serving_display.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "apps/terminal/text.h"
#include "net/refusal.h"

namespace weft::apps {

std::string StatusJson(const ps::ServerStatus& status, const std::string& job) {
  nlohmann::json workers = nlohmann::json::array();
  for (const ps::WorkerStatus& worker : status.workers) {
    nlohmann::json refused = nlohmann::json::object();
    for (int reason = 1; reason < net::kReasons; ++reason) {
      const int64_t count = worker.refused[static_cast<size_t>(reason)];
      if (count > 0) refused[std::string(net::Name(static_cast<net::Reason>(reason)))] = count;
    }
    workers.push_back({{"name", worker.name},
                       {"batch", worker.batch},
                       {"in_round", worker.in_round},
                       {"complete", worker.complete},
                       {"contributions", worker.contributions},
                       {"refused", refused}});
  }
  const nlohmann::json all = {{"job", job},
                              {"epoch", status.epoch},
                              {"round", status.round},
                              {"rounds", status.rounds},
                              {"slices_closed", status.slices_closed},
                              {"slices", status.slices},
                              {"needed", status.needed},
                              {"segments_taken", status.segments_taken},
                              {"segments_doubled", status.segments_doubled},
                              {"refused", status.refused},
                              {"bytes_taken", status.bytes_taken},
                              {"bytes_sent", status.bytes_sent},
                              {"waits_for_disk", status.waits_for_disk},
                              {"disk_wait_ns", status.disk_wait_ns},
                              {"disk_problem", status.disk_problem},
                              {"workers", workers}};
  return all.dump();
}

std::string MetricsText(const ps::ServerStatus& status, const std::string& job) {
  std::string text;
  const auto add = [&](const char* name, const char* type, const char* help, double value) {
    text += fmt::format("# HELP weft_{0} {1}\n# TYPE weft_{0} {2}\nweft_{0}{{job=\"{3}\"}} {4}\n",
                        name, help, type, job, value);
  };
  add("epoch", "gauge", "Which start of the server this is.", static_cast<double>(status.epoch));
  add("round", "gauge", "The round that is open.", static_cast<double>(status.round));
  add("workers", "gauge", "Workers of the job.", static_cast<double>(status.workers.size()));
  add("segments_taken_total", "counter", "Segments of gradients taken.",
      static_cast<double>(status.segments_taken));
  add("segments_doubled_total", "counter", "Segments that came again and changed nothing.",
      static_cast<double>(status.segments_doubled));
  add("messages_refused_total", "counter", "Messages refused.",
      static_cast<double>(status.refused));
  add("bytes_taken_total", "counter", "Bytes of gradients taken.",
      static_cast<double>(status.bytes_taken));
  add("bytes_sent_total", "counter", "Bytes sent to workers.",
      static_cast<double>(status.bytes_sent));
  add("checkpoint_failing", "gauge", "1 while the state cannot be kept.",
      status.disk_problem.empty() ? 0 : 1);
  text +=
      "# HELP weft_worker_refused_total Messages refused, by worker and reason.\n"
      "# TYPE weft_worker_refused_total counter\n";
  for (const ps::WorkerStatus& worker : status.workers) {
    for (int reason = 1; reason < net::kReasons; ++reason) {
      const int64_t count = worker.refused[static_cast<size_t>(reason)];
      if (count == 0) continue;
      text +=
          fmt::format("weft_worker_refused_total{{job=\"{}\",worker=\"{}\",reason=\"{}\"}} {}\n",
                      job, worker.name, net::Name(static_cast<net::Reason>(reason)), count);
    }
  }
  return text;
}

std::string StatusText(const std::string& json) {
  const nlohmann::json s = nlohmann::json::parse(json);
  std::string text = fmt::format(
      "job {}: round {} of {}, start {} of the server, {} workers ({} needed)\n",
      s["job"].get<std::string>(), s["round"].get<int64_t>(), s["rounds"].get<int64_t>(),
      s["epoch"].get<uint64_t>(), s["workers"].size(), s["needed"].get<int>());
  if (const auto problem = s["disk_problem"].get<std::string>(); !problem.empty()) {
    text += "the state cannot be kept: " + problem + "\n";
  }
  Table table({"worker", "batch", "this round", "rounds", "refused"});
  for (const nlohmann::json& w : s["workers"]) {
    int64_t refused = 0;
    for (const auto& [reason, count] : w["refused"].items()) refused += count.get<int64_t>();
    const char* state = !w["in_round"].get<bool>()  ? "from the next on"
                        : w["complete"].get<bool>() ? "delivered"
                                                    : "awaited";
    table.Add({w["name"].get<std::string>(), std::to_string(w["batch"].get<int>()), state,
               CountText(w["contributions"].get<int64_t>()), CountText(refused)});
  }
  return text + table.Text();
}

ServingDisplay::ServingDisplay(Console& console, bool json, const ps::ServerSetting& setting,
                               const net::WireLayout& layout, const Clock& clock)
    : console_(console), json_(json), clock_(clock) {
  if (json_) return;
  console_.out << fmt::format("job {}: {} on {} units, {}, waiting for {} worker{}\n", setting.job,
                              setting.welcome.model, layout.unit_count(),
                              BytesText(layout.floats() * static_cast<int64_t>(sizeof(float))),
                              setting.workers, setting.workers == 1 ? "" : "s");
  console_.out.flush();
}

void ServingDisplay::Update(const ps::ServerStatus& status) {
  if (shown_round_ < 0) {
    shown_round_ = status.round;
    round_began_ns_ = clock_.NowNs();
    return;
  }
  if (status.round == shown_round_) return;
  const int64_t now = clock_.NowNs();
  const int64_t rounds = status.round - shown_round_;
  const int64_t took = (now - round_began_ns_) / rounds;
  const int64_t bytes = status.bytes_taken - bytes_taken_;
  shown_round_ = status.round;
  round_began_ns_ = now;
  bytes_taken_ = status.bytes_taken;
  if (json_) {
    const nlohmann::json line = {{"round", status.round},
                                 {"round_ns", took},
                                 {"workers", status.workers.size()},
                                 {"bytes_taken", bytes},
                                 {"disk_wait_ns", status.disk_wait_ns - disk_wait_ns_},
                                 {"refused", status.refused}};
    disk_wait_ns_ = status.disk_wait_ns;
    console_.out << line << "\n";
    console_.out.flush();
    return;
  }
  const std::string line =
      fmt::format("round {} of {}  {}  {} workers  {} in  {} refused", status.round, status.rounds,
                  TimeText(took), status.workers.size(), BytesText(bytes), status.refused);
  if (console_.terminal.live) {
    console_.out << "\r\033[K" << line;
    drawn_ = true;
  } else {
    console_.out << line << "\n";
  }
  console_.out.flush();
}

void ServingDisplay::Leave() {
  if (drawn_) console_.out << "\n";
  drawn_ = false;
}

void ServingDisplay::Final(const ps::ServerStatus& status, const std::string& model_hash) {
  if (json_) {
    const nlohmann::json final = {{"final", true},
                                  {"rounds", status.round},
                                  {"epoch", status.epoch},
                                  {"segments_taken", status.segments_taken},
                                  {"segments_doubled", status.segments_doubled},
                                  {"refused", status.refused},
                                  {"model_hash", model_hash}};
    console_.out << final << "\n";
    return;
  }
  console_.out << fmt::format("{} rounds done", status.round)
               << (model_hash.empty() ? "" : ", model " + model_hash.substr(0, 16)) << "\n";
}

}  // namespace weft::apps
