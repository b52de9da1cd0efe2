// SPDX-License-Identifier: Apache-2.0
#include "tests/doctor/answering_server.h"

#include <cstdlib>
#include <utility>
#include <variant>

#include "apps/job/job_model.h"
#include "core/model/zoo.h"
#include "net/codec/codec.h"
#include "net/topics.h"

namespace weft::apps {
namespace {

constexpr const char* kJob = "digits";

net::MqttSetting Listening(net::MqttSetting setting) {
  for (const net::Lane lane : {net::Lane::kControl, net::Lane::kPush, net::Lane::kTelemetry}) {
    setting.subscriptions.push_back(net::AllWorkers(kJob, lane));
  }
  return setting;
}

}  // namespace

net::Welcome AnsweringServer::Lenet() {
  const model::Graph graph = *model::BuildModel("lenet5", {.classes = 10, .input = {1, 28, 28}});
  return {.model = "lenet5",
          .input = {1, 28, 28},
          .classes = 10,
          .units = {{.name = "all", .parameters = 1, .statistics = 0}},
          .slice_ends = {1},
          .rounds = 10,
          .batch = 8,
          .heartbeat_ms = 1'000,
          .worker_timeout_ms = 10'000,
          .window_bytes = 4 << 20,
          .segment_bytes = 128 << 10,
          .model_hash = ArchitectureHash(graph),
          .strategy = "weave",
          .replan_rounds = 50};
}

AnsweringServer::AnsweringServer(net::MqttSetting setting, net::Welcome welcome)
    : welcome_(std::move(welcome)),
      gate_({.job = kJob, .max_message_bytes = 1 << 20}),
      peer_(Listening(std::move(setting))) {
  if (!peer_.AwaitConnected()) std::abort();
  thread_ = std::thread([this] { Work(); });
}

AnsweringServer::~AnsweringServer() {
  stop_ = true;
  thread_.join();
}

void AnsweringServer::Work() {
  size_t answered = 0;
  while (!stop_) {
    peer_.Until([&] { return stop_ || peer_.messages.size() > answered; }, 1);
    for (; answered < peer_.messages.size(); ++answered) Answer(peer_.messages[answered]);
  }
}

void AnsweringServer::Answer(const net::Peer::Message& message) {
  const auto looked = gate_.Look(message.topic, message.payload, message.retained);
  if (const auto* turned = std::get_if<ps::InputGate::Turned>(&looked)) {
    if (!turned->header) return;
    return Say(turned->worker, turned->header->incarnation,
               net::Nack{turned->ticket, turned->sequence, turned->refusal});
  }
  const net::Message& said = std::get<net::Message>(looked);
  if (std::holds_alternative<net::Hello>(said.body)) {
    Say(said.header.worker, said.header.incarnation, welcome_);
  }
}

void AnsweringServer::Say(const std::string& worker, uint64_t incarnation, net::Body body) {
  peer_.transport->Publish(
      net::TopicOf(kJob, worker, net::Lane::kPull),
      net::Encode({.header = {.job = kJob, .worker = worker, .incarnation = incarnation},
                   .body = std::move(body)}));
}

}  // namespace weft::apps
