// SPDX-License-Identifier: Apache-2.0
#include "net/mqtt/guard/guard.h"

#include <algorithm>

namespace weft::net {

Guard::Verdict Guard::Look(const Deed& deed, int64_t now_ns) {
  if (deed.mqtt_version < 5) return Verdict::kOldProtocol;
  // Who waits for no answer sends as fast as its line is; all that is ours is at QoS 1.
  if (deed.publishes && deed.qos == 0) return Verdict::kUnanswered;
  if (until_ns_.empty()) return Verdict::kPass;
  const auto at = until_ns_.find(deed.user);
  if (at == until_ns_.end()) return Verdict::kPass;
  if (now_ns < at->second) return Verdict::kShutOut;
  until_ns_.erase(at);
  return Verdict::kPass;
}

bool Guard::ShutOut(std::string_view user, int64_t now_ns) {
  const auto at = until_ns_.find(user);
  if (at != until_ns_.end()) {
    const bool was = now_ns < at->second;
    at->second = now_ns + kShutOutNs;
    return !was;
  }
  if (until_ns_.size() >= kMostShutOut) LetIn(now_ns);
  until_ns_.emplace(user, now_ns + kShutOutNs);
  return true;
}

void Guard::LetIn(int64_t now_ns) {
  std::erase_if(until_ns_, [&](const auto& each) { return each.second <= now_ns; });
  if (until_ns_.size() < kMostShutOut) return;
  until_ns_.erase(
      std::min_element(until_ns_.begin(), until_ns_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; }));
}

}  // namespace weft::net
