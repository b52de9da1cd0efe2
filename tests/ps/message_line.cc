// SPDX-License-Identifier: Apache-2.0
#include "tests/ps/message_line.h"

#include <cstdio>
#include <variant>

namespace weft::ps {
namespace {

std::string About(const net::Nack& nack) {
  return " " + std::string(net::Name(nack.refusal.reason)) + " of " + std::to_string(nack.sequence);
}

std::string About(const net::Segment& s) {
  return " #" + std::to_string(s.sequence) + " units " + std::to_string(s.first_unit) + "-" +
         std::to_string(s.last_unit) + " at " + std::to_string(s.offset) + ", " +
         std::to_string(s.data.size()) + " bytes";
}

std::string About(const net::Welcome& w) {
  return " ticket " + std::to_string(w.ticket) + " first " + std::to_string(w.first_round);
}

std::string About(const net::Plan& p) { return " ticket " + std::to_string(p.ticket); }

std::string About(const net::Ack& a) {
  std::string line;
  for (const uint64_t s : a.sequences) line += " #" + std::to_string(s);
  return line;
}

template <typename Other>
std::string About(const Other&) {
  return "";
}

}  // namespace

std::string LineOf(const net::Message& message) {
  constexpr const char* kNames[] = {"Hello", "Welcome", "Refuse",    "Plan",    "Segment",
                                    "Ack",   "Nack",    "Heartbeat", "Goodbye", "Telemetry"};
  char incarnation[5];
  std::snprintf(incarnation, sizeof incarnation, "%04llx",
                static_cast<unsigned long long>(message.header.incarnation & 0xFFFF));
  return std::string(kNames[message.body.index()]) + " epoch " +
         std::to_string(message.header.epoch) + " round " + std::to_string(message.header.round) +
         " incarnation " + incarnation +
         std::visit([](const auto& body) { return About(body); }, message.body);
}

}  // namespace weft::ps
