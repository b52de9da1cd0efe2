// SPDX-License-Identifier: Apache-2.0
// A cluster as `weft cluster` makes it, its broker running as configured, the server and a device
// connected, and another device that wants what is not its own. An observer, whom only the tests'
// access list knows, listens where neither server nor device would: in another job, and among the
// broker's own topics.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/enrolment/cluster_folder.h"
#include "tests/cluster/raw_client.h"
#include "tests/files/scratch_folder.h"
#include "tests/mqtt/broker.h"

namespace weft::apps {

class AttackedCluster {
 public:
  // One for all tests of a process.
  static AttackedCluster& Get();
  // The same whose broker has no guard, and so lets in old clients and messages at QoS 0 as well:
  // the access list alone keeps them from what is not theirs.
  static AttackedCluster& Unguarded();
  static AttackedCluster& For(const RawConnect& connect) {
    return connect.version < 5 ? Unguarded() : Get();
  }
  static AttackedCluster& For(const RawPublish& publish) {
    return publish.qos == 0 ? Unguarded() : Get();
  }

  explicit AttackedCluster(const std::string& guard_file);

  int port() const { return broker_->port(); }
  net::Broker& broker() { return *broker_; }
  std::string folder() const { return folder_.Path("cluster" + std::to_string(port())); }
  std::string Path(const std::string& name) const { return folder_.Path(name); }

  // The identity of a device that is enrolled on the way, if it is not yet; or of "ps".
  RawTls Device(const std::string& name);
  // Any identity, its files written under `name`.
  RawTls Files(const std::string& name, const Identity& identity) const;
  // The cluster's authority, for what its owner would never sign.
  Authority authority() const;

  // Connected under its own name with nothing special, or aborts.
  std::unique_ptr<RawClient> Join(const std::string& name, const RawConnect& connect = {});

  // The server, the victim and the observer hear nothing but what is meant for them, and can be
  // heard. `mallory` is connected and has done its worst.
  void CheckNobodyHeard(RawClient& mallory);
  // Has the broker read its files again.
  void Reload();

  // The server hears the victim, and the other way round.
  void CheckUnharmed();

  RawClient& server() { return *server_; }
  RawClient& victim() { return *victim_; }
  std::string NewMarker() { return "marker" + std::to_string(++markers_); }

 private:
  // The observer's lines are in the access list, which every change of the cluster writes anew.
  static void LetObserverHear(const std::string& folder);

  ScratchFolder folder_;
  std::unique_ptr<net::Broker> broker_;
  std::unique_ptr<RawClient> server_;
  std::unique_ptr<RawClient> victim_;
  std::unique_ptr<RawClient> observer_;
  int markers_ = 0;
};

// A device "mallory" that publishes, connects with this will, or listens: blocked, and not heard.
// The broker answers the one with a will with `reason`; with 0 it leaves it, and nobody hears it.
void CheckPublishBlocked(const RawPublish& publish);
void CheckWillBlocked(const RawConnect& connect, int reason = 0);
void CheckListenerHearsNothing(const std::string& filter, int qos, int version = 5);
// This certificate, or none, gets no further than TLS: the broker says why, such as
// SSL_AD_UNKNOWN_CA.
void CheckNotLetIn(const RawTls& tls, int alert);

std::string Joined(const std::vector<std::string>& topics);

int64_t NowSeconds();

}  // namespace weft::apps
