// SPDX-License-Identifier: Apache-2.0
// What a broker lets a connection publish and hear, found out by doing it. Mosquitto grants a
// subscription also where it will never deliver, so listening is proven by an echo.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/doctor/broker_walk.h"
#include "apps/doctor/examination.h"
#include "core/clock.h"
#include "net/mqtt/broker_probe.h"

namespace weft::apps {

class TopicChecks {
 public:
  // Borrows all of them.
  TopicChecks(Examination& exam, const BrokerWalk& walk, net::BrokerProbe& probe,
              const Clock& clock);

  struct Saying {
    std::string topic;
    net::Payload payload;
  };
  // All must be taken; `acl_line` is what the broker lacks if one is not. The first to which nobody
  // listens is put into `unheard`.
  Finding MayPublish(const std::vector<Saying>& sayings, const std::string& acl_line,
                     std::string& unheard);
  Finding MaySubscribe(const std::vector<std::string>& filters, const std::string& acl_line);
  void Unsubscribe(const std::string& filter);

  // A message on a topic that is another's must not be taken. `heard`: it was, and somebody
  // listens.
  Finding MustNotPublish(const Saying& saying, bool& heard);
  // A message that we may publish there, but not listen to, must not come back.
  Finding MustNotHear(const Saying& saying);

  // A message that we may publish there and listen to must come back. The subscription stays.
  Finding MustHear(const Saying& saying, const std::string& acl_line);

  // Nobody else has come with our name since the beginning, nor does for a moment longer.
  Finding Alone();

  // Messages that came for us, in their order; the oldest not yet returned, if it is there by then.
  std::optional<net::BrokerProbe::Received> Next(int64_t until_ns);
  int64_t Deadline() const;  // for an answer to what is asked now

 private:
  Finding Broken(const Status& status);
  Finding TooWide(const std::string& detail) const;

  Examination& exam_;
  const BrokerWalk& walk_;
  net::BrokerProbe& probe_;
  const Clock& clock_;
  const int64_t began_ns_;
  std::vector<net::BrokerProbe::Received> set_aside_;  // came while something else was awaited
};

// What the broker says of itself, against the messages that are to go through it: `segment_bytes`
// and `window_bytes` of the job, or 0 where that is not known. `talk_bytes`: the largest other one.
Finding CheckLimits(const net::BrokerLimits& limits, int64_t segment_bytes, int64_t window_bytes,
                    int64_t talk_bytes);

}  // namespace weft::apps
