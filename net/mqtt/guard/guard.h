// SPDX-License-Identifier: Apache-2.0
// What a broker refuses beyond its access list: clients of protocols older than MQTT 5, to which it
// could not say no; messages at QoS 0, which nothing slows down; and for a while whomever a server
// of the job has found to flood it. Without it a flood fills the servers' queues, where it pushes
// out what others sent.
// Thread: the broker's, which has one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace weft::net {

class Guard {
 public:
  static constexpr int64_t kShutOutNs = 60'000'000'000;
  static constexpr size_t kMostShutOut = 10'000;  // the oldest are let in again for others

  struct Deed {
    std::string_view user;
    int mqtt_version = 5;
    bool publishes = false;
    int qos = 1;
  };
  enum class Verdict { kPass, kOldProtocol, kUnanswered, kShutOut };
  // May somebody do this?
  Verdict Look(const Deed& deed, int64_t now_ns);

  // From now on, for kShutOutNs. False if it was shut out already; then it is for longer.
  bool ShutOut(std::string_view user, int64_t now_ns);

 private:
  void LetIn(int64_t now_ns);

  std::map<std::string, int64_t, std::less<>> until_ns_;  // who is shut out
};

}  // namespace weft::net
