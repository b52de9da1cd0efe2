// SPDX-License-Identifier: Apache-2.0
// A cloud and some edge devices, each a network namespace of this machine, and an emulated link
// between the cloud and each device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "apps/lab/machine_watch.h"
#include "core/clock.h"
#include "core/status.h"
#include "net/link/link_emulator.h"
#include "net/link/link_script.h"
#include "net/link/network_namespace.h"

namespace weft::apps {

// Thread: one.
class LabNetwork {
 public:
  struct Setting {
    std::string name = "weft-lab";  // the namespaces are NAME-cloud, NAME-w1, NAME-w2, ...
    int workers = 1;
    net::LinkSetting link = {};  // the same both ways
    std::vector<net::LinkChange> changes = {};
    uint64_t seed = 1;
  };

  // Unavailable without the right to make namespaces and devices.
  static Result<std::unique_ptr<LabNetwork>> Create(const Setting& setting);

  const net::NetworkNamespace& cloud() const { return *cloud_; }
  const net::NetworkNamespace& edge(int worker) const {
    return *edges_[static_cast<size_t>(worker)];
  }
  // What TCP goes by in every namespace: cubic, as Debian's kernels have it unless told otherwise,
  // or this machine's own where that may not be chosen.
  const std::string& congestion_control() const { return congestion_control_; }
  // Of the cloud, as that worker sees it.
  static std::string CloudAddress(int worker) { return Address(worker, 2); }

  // The links are as in the setting again, and the script begins.
  Status Begin();
  // Does what the script says by now.
  Status ApplyDueChanges();
  // Until the next change, for poll; at most `most_ms`.
  int MsToNextChange(int most_ms) const;

  Lateness lateness() const;
  // Unavailable if somebody took a device away.
  Status health() const { return emulator_->health(); }

 private:
  LabNetwork(const Setting& setting) : setting_(setting) {}
  static std::string Address(int worker, int end);
  Status ChangeAll(net::LinkDirection direction, const net::LinkSetting& link);

  const Setting setting_;
  const SteadyClock clock_;
  std::string congestion_control_;
  std::unique_ptr<net::NetworkNamespace> cloud_;
  std::vector<std::unique_ptr<net::NetworkNamespace>> edges_;
  std::unique_ptr<net::LinkEmulator> emulator_;  // after the others, in which its devices are
  int64_t began_ns_ = 0;
  size_t next_ = 0;  // of the changes
  net::LinkSetting up_;
  net::LinkSetting down_;
};

}  // namespace weft::apps
