// SPDX-License-Identifier: Apache-2.0
// The folder of a cluster, on the machine of whoever runs it:
//
//   ca/       the authority: its key, its certificate, whom it has revoked
//   broker/   what Mosquitto is given; its user's, if root made it
//   server/   what each weft-ps is given; its user's, if root made it
//   devices/  a folder for each: its certificate, and its bundle
//
// Each is for its owner only. One process at a time works in it. A process that is killed leaves
// what was there, or what was to be there: each change is one file or one folder that is renamed,
// and the broker's files, which follow from the rest, are put right by the next command.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "apps/enrolment/authority.h"
#include "apps/enrolment/cluster_setting.h"
#include "apps/files/descriptor.h"
#include "core/status.h"

namespace weft::apps {

struct Member {
  enum class State { kActive, kRevoked, kExpired };
  std::string name;
  std::string role;  // "authority", "broker", "server" or "device"
  State state = State::kActive;
  CertificateFacts facts;
};

std::string_view Name(Member::State state);

class ClusterFolder {
 public:
  // Makes one; of a guard that the broker's user could not read where it is, with a copy in
  // broker/. `folder` must be new, or empty, or left by an Init that was killed, of which a file
  // tells; nothing else is ever deleted. InvalidInput says what is wrong with the setting or the
  // folder.
  static Result<ClusterFolder> Init(const std::string& folder, const ClusterSetting& setting,
                                    int64_t now_s);
  // One that Init made. NotFound if there is none; waits for another process that works in it, and
  // gives up after half a minute with Unavailable.
  static Result<ClusterFolder> Open(const std::string& folder);
  // Whether Init has made one there.
  static bool IsThere(const std::string& folder);

  const std::string& path() const { return path_; }  // absolute
  const ClusterSetting& setting() const { return setting_; }
  std::string broker_config() const { return path_ + "/broker/mosquitto.conf"; }
  std::vector<std::string> server_configs() const;  // one for each server, in their order

  // Enrols a device and returns the path of its bundle. InvalidInput for a name that cannot be one,
  // or is taken by a device that is neither revoked nor expired.
  Result<std::string> Add(const std::string& device, const DeviceChoices& choices, int64_t now_s);
  // From now on the broker, once it has read its files again, knows it no more. NotFound if there
  // is no such device; InvalidInput if it is revoked already.
  Status Revoke(const std::string& device, int64_t now_s);
  // Writes the certificates of broker and servers anew, for their keys, and the list of revoked
  // ones. If `host` is not empty, it is what the broker is called from now on, in its certificate
  // beside the names that it had. InvalidInput if it cannot be one.
  Status Renew(const std::string& host, int64_t now_s);
  // The authority, the broker and the servers, then the devices by name.
  Result<std::vector<Member>> Members(int64_t now_s) const;

 private:
  ClusterFolder(std::string path, Descriptor lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  static Result<ClusterFolder> Lock(const std::string& folder);
  Status MakeAll(int64_t now_s);
  Status NoLongerBegun() const;
  Status BringGuard();
  Status MakeServers(const Authority& authority, int64_t now_s) const;
  Status Load();
  Result<Authority> LoadAuthority() const;
  Result<Member> ReadMember(const std::string& path, const std::string& name,
                            const std::string& role, int64_t now_s) const;
  Status UpdateBroker(int64_t now_s) const;
  // Of server `shard`, without its ending.
  std::string ServerPath(int shard) const {
    return path_ + "/server/" + ServerStem(setting_, shard);
  }
  std::string DevicePath(const std::string& device) const { return path_ + "/devices/" + device; }

  std::string path_;
  Descriptor lock_;
  ClusterSetting setting_;
  std::string revocations_;           // PEM
  std::vector<std::string> serials_;  // of those it lists
};

}  // namespace weft::apps
