// SPDX-License-Identifier: Apache-2.0
// How fast tensors go through a broker: from one transport to another in this process, in messages
// of several sizes, beside a bare TCP stream over the same addresses; here, or across an emulated
// link with the sender at one end and the receiver at the other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/status.h"
#include "net/link/network_namespace.h"
#include "net/mqtt/mqtt_setting.h"

namespace weft::bench {

// Where each side's sockets are; nullptr: in this process's own network. They must outlive the
// call.
struct TransportEnds {
  const net::NetworkNamespace* sender = nullptr;
  const net::NetworkNamespace* receiver = nullptr;
};

struct TransportLoad {
  std::vector<int64_t> message_bytes = {4 << 10, 16 << 10, 64 << 10, 256 << 10, 512 << 10, 1 << 20};
  int64_t stream_bytes = 256 << 20;  // for each size; at least 16 messages
  int64_t window_bytes = 8 << 20;    // sent and not yet received, at most; at least two messages
  int singles = 31;                  // messages for each size that are sent one at a time
};

struct MessageSizeResult {
  int64_t message_bytes = 0;
  double stream_bytes_per_s = 0;  // with a full window
  int64_t single_ns = 0;          // from Publish until received, median of those one at a time
};

struct TransportResult {
  std::vector<MessageSizeResult> sizes;
  // single_ns as a line over message_bytes, by Theil and Sen: what a message costs, whatever is in
  // it, and the rate at which its bytes go. The rate is 0 where larger ones take no longer.
  double message_ns = 0;
  double bytes_per_s = 0;
};

// `publisher` and `subscriber` are two clients of one broker, which must let the one publish on
// `topic` and the other listen there. Unavailable, with the reason, if they do not connect, or if
// nothing arrives for ten seconds. Takes some seconds.
Result<TransportResult> BenchTransport(const Clock& clock, net::MqttSetting publisher,
                                       net::MqttSetting subscriber, const std::string& topic,
                                       const TransportLoad& load, const TransportEnds& ends = {});

// Bytes a second of a TCP stream from this process to itself by way of `address`, one of the
// receiver's own, in numbers; once an eighth of `bytes` has come, which finds the path's window.
// Unavailable if one cannot listen there.
Result<double> BenchTcpStream(const Clock& clock, const std::string& address, int64_t bytes,
                              const TransportEnds& ends = {});

}  // namespace weft::bench
