// SPDX-License-Identifier: Apache-2.0
// The seam between the protocol and what carries it: named topics, messages that may be lost,
// doubled, late or out of order, a connection that comes and goes. Everything that must not be
// lost is acknowledged and sent again above this.
#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"
#include "net/payload.h"

namespace weft::net {

// What the other side of a connection allows.
struct ConnectionLimits {
  int64_t payload_bytes = 0;  // of one message, at most
};

// Thread: the one that calls Poll.
class TransportEvents {
 public:
  virtual ~TransportEvents() = default;
  // A new connection; nothing that was on its way before can be relied on.
  virtual void Connected(const ConnectionLimits& limits) = 0;
  virtual void Disconnected(const Status& why) = 0;
  // `retained`: the broker had kept it, its sender need not be there.
  virtual void Received(const std::string& topic, Payload payload, bool retained) = 0;
  // The broker says of a topic that it will not take what is published there, or that nobody
  // listens. For people: the protocol goes by its own acknowledgements.
  virtual void PublishProblem(const std::string& topic, const Status& why) = 0;
};

// Thread: one, but for Wake.
class Transport {
 public:
  virtual ~Transport() = default;
  // Hands `payload` over; never waits. What is published while there is no connection is dropped,
  // as is what is larger than the connection allows.
  virtual void Publish(const std::string& topic, Payload payload) = 0;
  // Tells `events` what has happened; if nothing has, waits for it until the clock shows
  // `until_ns`.
  virtual void Poll(TransportEvents& events, int64_t until_ns) = 0;
  // Gives the connection up in good order, as if it had ended for that reason, and makes another:
  // for who has reason to think that it stands and carries nothing any more. Without a connection
  // nothing happens.
  virtual void Renew(const std::string& why) = 0;
  // Makes a Poll that waits return. Thread: any.
  virtual void Wake() = 0;
  // When the other side last gave a sign of life, by the clock; who waits for others should know
  // whether they could be heard.
  virtual int64_t last_alive_ns() const = 0;
};

}  // namespace weft::net
