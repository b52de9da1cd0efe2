// SPDX-License-Identifier: Apache-2.0
#include "net/link/link_script.h"

#include <charconv>
#include <cmath>
#include <string>

namespace weft::net {

namespace {

constexpr double kMostSeconds = 1e6;

bool ParseNumber(std::string_view text, double& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && std::isfinite(number);
}

std::string Quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

std::vector<std::string_view> WordsOf(std::string_view line) {
  line = line.substr(0, line.find('#'));
  std::vector<std::string_view> words;
  constexpr std::string_view kBlanks = " \t\r";
  while (true) {
    const size_t begin = line.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return words;
    const size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    line = line.substr(end);
  }
}

template <typename T>
Status Take(Result<T> value, std::optional<T>& place) {
  if (!value.ok()) return value.status();
  place = *value;
  return Status::Ok();
}

Status ParseWord(std::string_view word, LinkChange& change) {
  const size_t equals = word.find('=');
  const std::string_view key = word.substr(0, equals);
  const bool known =
      key == "mbps" || key == "rtt-ms" || key == "jitter-ms" || key == "loss" || key == "queue-kb";
  if (!known || equals == std::string_view::npos) {
    return Status::InvalidInput(Quoted(word) +
                                " is not mbps=, rtt-ms=, jitter-ms=, loss= or queue-kb=");
  }
  double number = 0;
  if (!ParseNumber(word.substr(equals + 1), number)) {
    return Status::InvalidInput(Quoted(word) + " has no number behind the '='");
  }
  if (key == "mbps") return Take(RateOfMbps(number), change.rate_bps);
  if (key == "rtt-ms") return Take(DelayOfMs(number / 2), change.delay_ns);
  if (key == "jitter-ms") return Take(DelayOfMs(number), change.jitter_ns);
  if (key == "loss") return Take(LossOfPercent(number), change.loss);
  return Take(BytesOfKb(number), change.queue_bytes);
}

Result<LinkChange> ParseLine(const std::vector<std::string_view>& words) {
  LinkChange change;
  double seconds = 0;
  if (words.size() < 4 || words[0] != "at") {
    return Status::InvalidInput(
        "a change is written as 'at SECONDS up|down|both mbps=100', with rtt-ms=, jitter-ms=, "
        "loss= or queue-kb= as well or instead");
  }
  if (!ParseNumber(words[1], seconds) || seconds < 0 || seconds > kMostSeconds) {
    return Status::InvalidInput(Quoted(words[1]) + " is no number of seconds from 0 to 1000000");
  }
  change.at_ns = std::llround(seconds * 1e9);
  change.up = words[2] == "up" || words[2] == "both";
  change.down = words[2] == "down" || words[2] == "both";
  if (!change.up && !change.down) {
    return Status::InvalidInput(Quoted(words[2]) + " is not up, down or both");
  }
  for (size_t i = 3; i < words.size(); ++i) {
    if (Status status = ParseWord(words[i], change); !status.ok()) return status;
  }
  return change;
}

}  // namespace

Result<std::vector<LinkChange>> ParseLinkScript(std::string_view text) {
  std::vector<LinkChange> changes;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string_view> words = WordsOf(text.substr(0, end));
    text = text.substr(std::min(end + 1, text.size()));
    if (words.empty()) continue;
    const std::string place = "line " + std::to_string(number);
    Result<LinkChange> change = ParseLine(words);
    if (!change.ok()) return change.status().WithContext(place);
    if (!changes.empty() && change->at_ns < changes.back().at_ns) {
      return Status::InvalidInput(place + ": " + std::string(words[1]) +
                                  " s is earlier than the change before it");
    }
    changes.push_back(*change);
  }
  return changes;
}

LinkSetting Changed(LinkSetting setting, const LinkChange& change) {
  setting.rate_bps = change.rate_bps.value_or(setting.rate_bps);
  setting.delay_ns = change.delay_ns.value_or(setting.delay_ns);
  setting.jitter_ns = change.jitter_ns.value_or(setting.jitter_ns);
  setting.loss = change.loss.value_or(setting.loss);
  setting.queue_bytes = change.queue_bytes.value_or(setting.queue_bytes);
  return setting;
}

Result<int64_t> RateOfMbps(double mbps) {
  if (!(mbps == 0 || (mbps >= 0.001 && mbps <= 100'000))) {
    return Status::InvalidInput("a rate in Mb/s is 0.001 to 100000, or 0 for no limit");
  }
  return std::llround(mbps * 1e6);
}

Result<int64_t> DelayOfMs(double ms) {
  if (!(ms >= 0 && ms <= 60'000)) {
    return Status::InvalidInput("a delay in ms, and half a round trip, is 0 to 60000");
  }
  return std::llround(ms * 1e6);
}

Result<double> LossOfPercent(double percent) {
  if (!(percent >= 0 && percent <= 100)) {
    return Status::InvalidInput("a loss in percent is 0 to 100");
  }
  return percent / 100;
}

Result<int64_t> BytesOfKb(double kb) {
  if (!(kb >= 0 && kb <= static_cast<double>(kMostLinkQueueBytes) / 1024)) {
    return Status::InvalidInput("a queue in KB is 0, for the default, to " +
                                std::to_string(kMostLinkQueueBytes / 1024));
  }
  return std::llround(kb * 1024);
}

}  // namespace weft::net
