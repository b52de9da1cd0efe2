// SPDX-License-Identifier: Apache-2.0
#include "apps/lab/lab_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "apps/lab/job_setting.h"

namespace weft::apps {
namespace {

constexpr const char* kTcp = "/proc/sys/net/ipv4/";

bool SetTcp(const std::string& name, const std::string& value) {
  std::ofstream file(kTcp + name);
  file << value << "\n";
  file.close();
  return static_cast<bool>(file);
}

// Of the present namespace; `congestion_control` becomes what there is.
Status SettleTcp(std::string& congestion_control) {
  // TCP forgets how fast a path is when it was idle for some hundred milliseconds, which it is in
  // every round, and would begin slowly each time.
  if (!SetTcp("tcp_slow_start_after_idle", "0")) {
    return Status::Unavailable("this kernel cannot set net.ipv4.tcp_slow_start_after_idle to 0");
  }
  SetTcp("tcp_congestion_control", "cubic");  // not every machine allows it
  std::ifstream(std::string(kTcp) + "tcp_congestion_control") >> congestion_control;
  return Status::Ok();
}

}  // namespace

// 10.87.0.1 and .2 for the first worker, .5 and .6 for the second: a network of four each.
std::string LabNetwork::Address(int worker, int end) {
  constexpr int kPerBlock = 64;
  return fmt::format("10.87.{}.{}", worker / kPerBlock, worker % kPerBlock * 4 + end);
}

Result<std::unique_ptr<LabNetwork>> LabNetwork::Create(const Setting& setting) {
  std::unique_ptr<LabNetwork> network(new LabNetwork(setting));
  const auto make = [&](const std::string& part) {
    Result<std::unique_ptr<net::NetworkNamespace>> made =
        net::NetworkNamespace::Create(setting.name + "-" + part);
    if (made.ok()) {
      const auto settle = [&] { return SettleTcp(network->congestion_control_); };
      if (Status status = (*made)->Run(settle); !status.ok()) return decltype(made)(status);
    }
    return made;
  };
  Result<std::unique_ptr<net::NetworkNamespace>> cloud = make("cloud");
  if (!cloud.ok()) return cloud.status();
  network->cloud_ = std::move(cloud).value();
  std::vector<net::LinkPlan> links;
  for (int worker = 0; worker < setting.workers; ++worker) {
    Result<std::unique_ptr<net::NetworkNamespace>> edge = make(WorkerName(worker));
    if (!edge.ok()) return edge.status();
    network->edges_.push_back(std::move(edge).value());
    links.push_back({.edge = {.place = network->edges_.back().get(), .address = Address(worker, 1)},
                     .cloud = {.place = network->cloud_.get(),
                               .device = WorkerName(worker),
                               .address = Address(worker, 2)},
                     .up = setting.link,
                     .down = setting.link});
  }
  Result<std::unique_ptr<net::LinkEmulator>> emulator =
      net::LinkEmulator::Create(links, setting.seed);
  if (!emulator.ok()) return emulator.status();
  network->emulator_ = std::move(emulator).value();
  return network;
}

Status LabNetwork::ChangeAll(net::LinkDirection direction, const net::LinkSetting& link) {
  for (size_t i = 0; i < emulator_->links(); ++i) {
    if (Status status = emulator_->Change(i, direction, link); !status.ok()) return status;
  }
  return Status::Ok();
}

Status LabNetwork::Begin() {
  began_ns_ = clock_.NowNs();
  next_ = 0;
  up_ = down_ = setting_.link;
  for (const net::LinkDirection direction : {net::LinkDirection::kUp, net::LinkDirection::kDown}) {
    if (Status status = ChangeAll(direction, setting_.link); !status.ok()) return status;
  }
  return ApplyDueChanges();
}

Status LabNetwork::ApplyDueChanges() {
  for (; next_ < setting_.changes.size(); ++next_) {
    const net::LinkChange& change = setting_.changes[next_];
    if (change.at_ns > clock_.NowNs() - began_ns_) break;
    if (change.up) {
      up_ = net::Changed(up_, change);
      if (Status status = ChangeAll(net::LinkDirection::kUp, up_); !status.ok()) return status;
    }
    if (change.down) {
      down_ = net::Changed(down_, change);
      if (Status status = ChangeAll(net::LinkDirection::kDown, down_); !status.ok()) return status;
    }
  }
  return Status::Ok();
}

int LabNetwork::MsToNextChange(int most_ms) const {
  if (next_ == setting_.changes.size()) return most_ms;
  const int64_t ns = setting_.changes[next_].at_ns - (clock_.NowNs() - began_ns_);
  return static_cast<int>(std::clamp<int64_t>(ns / 1'000'000 + 1, 0, most_ms));
}

Lateness LabNetwork::lateness() const {
  Lateness all;
  for (size_t i = 0; i < emulator_->links(); ++i) {
    all.Add(emulator_->counters(i, net::LinkDirection::kUp));
    all.Add(emulator_->counters(i, net::LinkDirection::kDown));
  }
  return all;
}

}  // namespace weft::apps
