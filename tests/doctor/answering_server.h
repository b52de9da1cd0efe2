// SPDX-License-Identifier: Apache-2.0
// A server of job "digits" that answers questions and turns strays away at its real gate, and does
// nothing else: enough for a doctor, and there at once.
#pragma once

#include <atomic>
#include <thread>

#include "cloud_ps/input_gate.h"
#include "net/message.h"
#include "tests/mqtt/peer.h"

namespace weft::apps {

class AnsweringServer {
 public:
  // Ready when this returns. `welcome` is what it says of the job.
  AnsweringServer(net::MqttSetting setting, net::Welcome welcome);
  ~AnsweringServer();

  // lenet5 for ten digits of 1x28x28, as a server of this build has it.
  static net::Welcome Lenet();

 private:
  void Work();
  void Answer(const net::Peer::Message& message);
  void Say(const std::string& worker, uint64_t incarnation, net::Body body);

  const net::Welcome welcome_;
  const ps::InputGate gate_;
  net::Peer peer_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace weft::apps
