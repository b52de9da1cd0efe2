// SPDX-License-Identifier: Apache-2.0
#include "apps/enrolment/cluster_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "apps/enrolment/device_bundle.h"
#include "apps/enrolment/private_files.h"
#include "net/topics.h"

namespace weft::apps {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytes = 16 << 20;  // a list of revocations of some hundred thousand
constexpr const char* kSettingName = "/cluster.toml";
constexpr const char* kFolders[] = {"ca", "broker", "server", "devices"};
// There while Init is at work, so that only what it made itself is ever deleted.
constexpr const char* kBegunName = ".being-made";

std::string Absolute(const std::string& folder) {
  std::error_code ignored;
  fs::path path = fs::absolute(folder.empty() ? "." : folder, ignored).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // it was written with a slash at its end
  return path.string();
}

// Whether anything is in it but what an Init leaves that had not begun yet.
bool IsEmpty(const std::string& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name != "lock" && !name.starts_with(kBegunName)) return false;
  }
  return error != std::errc::permission_denied;
}

bool IsBegun(const std::string& folder) {
  std::error_code ignored;
  return fs::exists(folder + "/" + kBegunName, ignored);
}

// What is there without a cluster.toml, and what to do about it; ok if one can be made there.
Status CheckFree(const std::string& folder) {
  // In this order: an Init at work begins before it makes anything, and ends with cluster.toml.
  const bool free = IsEmpty(folder) || IsBegun(folder);
  if (ClusterFolder::IsThere(folder)) {
    return Status::InvalidInput(folder +
                                " is not empty; give a new folder, or use what is there with "
                                "--dir " +
                                folder);
  }
  if (free) return Status::Ok();
  return Status::InvalidInput(folder +
                              " is not empty and has no cluster.toml; nothing in it was touched: "
                              "give a new folder or, if a cluster was here, bring its cluster.toml "
                              "back (docs/cluster.md says what is in it)");
}

// Why no cluster can be opened there, and what to do.
std::string WhyNone(const std::string& folder) {
  if (IsBegun(folder)) {
    return "`weft cluster init` has not finished in " + folder +
           "; if it does not run any more, run it again";
  }
  std::error_code ignored;
  if (fs::exists(folder + "/ca", ignored)) {
    return folder +
           " has an authority in ca/ but no cluster.toml; bring that file back: a new cluster "
           "would not know your devices (docs/cluster.md says what is in it)";
  }
  return "there is no cluster in " + folder +
         "; make one with `weft cluster init DIR --host NAME`, or name its folder with --dir";
}

// Rewrites only what changes, so that a list that reads as before stays the same file.
Status WriteIfOther(const std::string& path, const std::string& content,
                    std::optional<Owner> owner) {
  const Result<std::string> now = ReadSmallFile(path, kMostBytes);
  return now.ok() && *now == content ? Status::Ok() : WritePrivate(path, content, owner);
}

Status WriteIdentity(const std::string& path, const Identity& identity,
                     std::optional<Owner> owner) {
  if (Status status = WritePrivate(path + ".key", identity.key, owner); !status.ok()) return status;
  return WritePrivate(path + ".crt", identity.certificate, owner);
}

// One after the other; the first that fails is the last.
template <typename... Step>
Status InTurn(const Step&... step) {
  Status status;
  ((status = step(), status.ok()) && ...);
  return status;
}

// In the place of what is there, if anything is, in one step.
int MoveOrSwap(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EEXIST) return errno;
  return renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0 ? 0 : errno;
}

}  // namespace

std::string_view Name(Member::State state) {
  switch (state) {
    case Member::State::kActive:
      return "active";
    case Member::State::kRevoked:
      return "revoked";
    case Member::State::kExpired:
      return "expired";
  }
  return "";
}

bool ClusterFolder::IsThere(const std::string& folder) {
  std::error_code ignored;
  return fs::exists(Absolute(folder) + kSettingName, ignored);
}

Result<ClusterFolder> ClusterFolder::Lock(const std::string& folder) {
  constexpr auto kPatience = std::chrono::seconds(30);
  const std::string lock_path = folder + "/lock";
  Descriptor lock(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock.open()) {
    return Status::SystemFailure("cannot work in " + folder);
  }
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK || std::chrono::steady_clock::now() > until) {
      return Status::Unavailable("another weft cluster is at work in " + folder +
                                 "; try again when it has ended");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return ClusterFolder(folder, std::move(lock));
}

Result<ClusterFolder> ClusterFolder::Init(const std::string& folder, const ClusterSetting& setting,
                                          int64_t now_s) {
  if (Status status = Validate(setting); !status.ok()) return status;
  const std::string path = Absolute(folder);
  if (path.find_first_of("\r\n") != std::string::npos) {
    return Status::InvalidInput("a folder whose name has a line end cannot be used");
  }
  if (Status status = CheckFree(path); !status.ok()) return status;
  // Others may pass through it, to what is theirs, and see nothing.
  if (Status status = MakeFolder(path, 0711, std::nullopt); !status.ok()) return status;
  Result<ClusterFolder> made = Lock(path);
  if (!made.ok()) return made.status();
  if (Status status = CheckFree(path); !status.ok()) return status;  // another was quicker
  made->setting_ = setting;
  if (Status status = made->MakeAll(now_s); !status.ok()) return status;
  return made;
}

Status ClusterFolder::MakeAll(int64_t now_s) {
  const std::string begun = path_ + "/" + kBegunName;
  if (Status status = WritePrivate(
          begun, "Without a cluster.toml beside this, what is here is half a cluster.\n",
          std::nullopt);
      !status.ok()) {
    return status;
  }
  const std::optional<Owner> broker_user = OwnerNamed("mosquitto");
  const std::optional<Owner> server_user = OwnerNamed("weft-ps");
  for (const char* name : kFolders) {
    const std::string part = path_ + "/" + name;
    std::error_code ignored;
    fs::remove_all(part, ignored);  // of an Init that was killed
    const std::optional<Owner> owner = name == std::string_view("broker")   ? broker_user
                                       : name == std::string_view("server") ? server_user
                                                                            : std::nullopt;
    if (Status status = MakeFolder(part, 0700, owner); !status.ok()) return status;
  }
  const Result<Identity> identity = Authority::Create(now_s);
  if (!identity.ok()) return identity.status();
  const Result<Authority> authority = Authority::Load(*identity);
  if (!authority.ok()) return authority.status();
  const Result<Identity> broker = authority->IssueBroker({setting_.host}, now_s);
  if (!broker.ok()) return broker.status();
  const Result<std::string> revocations = authority->Revoke("", "", now_s);
  if (!revocations.ok()) return revocations.status();
  revocations_ = *revocations;
  const std::string& trust = identity->certificate;
  return InTurn(
      [&] { return WriteIdentity(path_ + "/ca/ca", *identity, std::nullopt); },
      [&] { return WritePrivate(path_ + "/ca/ca.crl", revocations_, std::nullopt); },
      [&] { return WriteIdentity(path_ + "/broker/broker", *broker, broker_user); },
      [&] { return WritePrivate(path_ + "/broker/ca.crt", trust, broker_user); },
      [&] { return WritePrivate(path_ + "/server/ca.crt", trust, server_user); },
      [&] { return MakeServers(*authority, now_s); }, [&] { return BringGuard(); },
      [&] { return UpdateBroker(now_s); },
      // With it the cluster is there.
      [&] { return WritePrivate(path_ + kSettingName, ClusterText(setting_), std::nullopt); },
      [&] { return NoLongerBegun(); });
}

Status ClusterFolder::NoLongerBegun() const {
  std::error_code error;
  fs::remove(path_ + "/" + kBegunName, error);
  if (!error) return Status::Ok();
  return Status::Unavailable("cannot remove " + path_ + "/" + kBegunName + ": " + error.message());
}

Status ClusterFolder::BringGuard() {
  if (setting_.guard_file.empty() || AnyoneMayRead(setting_.guard_file)) return Status::Ok();
  const Result<std::string> guard = ReadSmallFile(setting_.guard_file, kMostBytes);
  if (!guard.ok()) return guard.status();
  const std::string folder = path_ + "/broker";
  setting_.guard_file = folder + "/weft_guard.so";
  return WritePrivate(setting_.guard_file, *guard, OwnerOf(folder));
}

Status ClusterFolder::MakeServers(const Authority& authority, int64_t now_s) const {
  const std::string folder = path_ + "/server";
  const std::optional<Owner> owner = OwnerOf(folder);
  for (int shard = 0; shard < setting_.shards; ++shard) {
    const Result<Identity> server =
        authority.IssueClient(ps::ServerUser(shard, setting_.shards), now_s);
    if (!server.ok()) return server.status();
    const std::string path = ServerPath(shard);
    const Status status = InTurn(
        [&] { return WriteIdentity(path, *server, owner); },
        [&] { return WritePrivate(path + ".toml", ServerText(setting_, shard, folder), owner); });
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

std::vector<std::string> ClusterFolder::server_configs() const {
  std::vector<std::string> paths;
  for (int shard = 0; shard < setting_.shards; ++shard)
    paths.push_back(ServerPath(shard) + ".toml");
  return paths;
}

Result<ClusterFolder> ClusterFolder::Open(const std::string& folder) {
  const std::string path = Absolute(folder);
  if (!IsThere(path)) return Status::NotFound(WhyNone(path));
  Result<ClusterFolder> opened = Lock(path);
  if (!opened.ok()) return opened.status();
  if (Status status = opened->Load(); !status.ok()) return status;
  return opened;
}

Status ClusterFolder::Load() {
  const Result<std::string> text = ReadSmallFile(path_ + kSettingName, kMostBytes);
  if (!text.ok()) return text.status();
  Result<ClusterSetting> setting = ParseCluster(*text);
  if (!setting.ok()) return setting.status().WithContext(path_ + kSettingName);
  setting_ = std::move(*setting);
  if (Status status = NoLongerBegun(); !status.ok())
    return status;  // an Init killed at its very end
  const std::string list_path = path_ + "/ca/ca.crl";
  Result<std::string> revocations = ReadSmallFile(list_path, kMostBytes);
  if (!revocations.ok()) return revocations.status();
  Result<std::vector<std::string>> serials = ReadRevoked(*revocations);
  if (!serials.ok()) return serials.status().WithContext(list_path);
  revocations_ = std::move(*revocations);
  serials_ = std::move(*serials);
  // What a killed command left unfinished; a device's name does not begin with a dot.
  std::vector<fs::path> left;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_ + "/devices", error)) {
    if (entry.path().filename().string().starts_with(".")) left.push_back(entry.path());
  }
  for (const fs::path& unfinished : left) fs::remove_all(unfinished, error);
  return UpdateBroker(0);
}

Result<Authority> ClusterFolder::LoadAuthority() const {
  const Result<std::string> certificate = ReadSmallFile(path_ + "/ca/ca.crt", kMostBytes);
  if (!certificate.ok()) return certificate.status();
  const Result<std::string> key = ReadSmallFile(path_ + "/ca/ca.key", kMostBytes);
  if (!key.ok()) return key.status();
  Result<Authority> authority = Authority::Load({.certificate = *certificate, .key = *key});
  if (!authority.ok()) return authority.status().WithContext(path_ + "/ca");
  return authority;
}

// The broker's configuration, and who may do what there.
Status ClusterFolder::UpdateBroker(int64_t now_s) const {
  const std::string folder = path_ + "/broker";
  std::vector<std::string> shut_out;
  const Result<std::vector<Member>> members = Members(now_s);
  if (!members.ok()) return members.status();
  for (const Member& member : *members) {
    if (member.state == Member::State::kRevoked) shut_out.push_back(member.name);
  }
  const Result<ps::BrokerPlan> plan = PlanClusterBroker(setting_, folder, shut_out);
  if (!plan.ok()) return plan.status();
  const std::optional<Owner> owner = OwnerOf(folder);
  if (Status status = WriteIfOther(folder + "/ca.crl", revocations_, owner); !status.ok()) {
    return status;
  }
  if (Status status = WriteIfOther(folder + "/acl", plan->acl, owner); !status.ok()) return status;
  // Once: from then on it is whoever's runs the broker.
  std::error_code ignored;
  if (fs::exists(broker_config(), ignored)) return Status::Ok();
  return WritePrivate(broker_config(), plan->config, owner);
}

Result<Member> ClusterFolder::ReadMember(const std::string& path, const std::string& name,
                                         const std::string& role, int64_t now_s) const {
  const Result<std::string> text = ReadSmallFile(path, kMostBytes);
  if (!text.ok()) return text.status();
  Result<CertificateFacts> facts = ReadCertificate(*text, now_s);
  if (!facts.ok()) return facts.status().WithContext(path);
  Member member{.name = name, .role = role, .facts = std::move(*facts)};
  if (member.facts.expired) member.state = Member::State::kExpired;
  if (std::find(serials_.begin(), serials_.end(), member.facts.serial) != serials_.end()) {
    member.state = Member::State::kRevoked;
  }
  return member;
}

Result<std::vector<Member>> ClusterFolder::Members(int64_t now_s) const {
  std::vector<std::string> devices;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path_ + "/devices", error)) {
    const std::string name = entry.path().filename().string();
    if (net::IsName(name)) devices.push_back(name);
  }
  if (error) return Status::Unavailable("cannot read " + path_ + "/devices: " + error.message());
  std::sort(devices.begin(), devices.end());
  struct Place {
    std::string path, name, role;
  };
  std::vector<Place> places = {{path_ + "/ca/ca.crt", "ca", "authority"},
                               {path_ + "/broker/broker.crt", "broker", "broker"}};
  for (int shard = 0; shard < setting_.shards; ++shard) {
    places.push_back(
        {ServerPath(shard) + ".crt", ps::ServerUser(shard, setting_.shards), "server"});
  }
  for (const std::string& device : devices) {
    places.push_back({DevicePath(device) + "/device.crt", device, "device"});
  }
  std::vector<Member> members;
  for (const Place& place : places) {
    Result<Member> member = ReadMember(place.path, place.name, place.role, now_s);
    if (!member.ok()) return member.status();
    members.push_back(std::move(*member));
  }
  return members;
}

Result<std::string> ClusterFolder::Add(const std::string& device, const DeviceChoices& choices,
                                       int64_t now_s) {
  if (!net::IsName(device)) {
    return Status::InvalidInput("'" + device +
                                "' is no name for a device: 1 to 64 letters, digits, '-', '_' and "
                                "'.', not beginning with a '.'");
  }
  if (device == ps::kServerUser) {
    return Status::InvalidInput("'" + device + "' is the server's own name; choose another");
  }
  const std::string certificate_path = DevicePath(device) + "/device.crt";
  std::error_code ignored;
  if (fs::exists(certificate_path, ignored)) {
    const Result<Member> member = ReadMember(certificate_path, device, "device", now_s);
    if (!member.ok()) return member.status();
    if (member->state == Member::State::kActive) {
      return Status::InvalidInput("'" + device +
                                  "' is enrolled already; to give it a new key, `weft "
                                  "cluster revoke " +
                                  device + "` first");
    }
  }
  const Result<Authority> authority = LoadAuthority();
  if (!authority.ok()) return authority.status();
  const Result<Identity> identity = authority->IssueClient(device, now_s);
  if (!identity.ok()) return identity.status();
  const std::string bundle = PackBundle({.config = DeviceText(setting_, device, choices),
                                         .authority = authority->certificate(),
                                         .certificate = identity->certificate,
                                         .key = identity->key},
                                        now_s);
  const std::string unfinished = path_ + "/devices/." + device;
  const Status written = InTurn(
      [&] { return MakeFolder(unfinished, 0700, std::nullopt); },
      [&] { return WritePrivate(unfinished + "/device.crt", identity->certificate, std::nullopt); },
      [&] { return WritePrivate(unfinished + "/" + device + ".tar", bundle, std::nullopt); });
  if (!written.ok()) return written;
  FileCalls calls;
  int error = MoveOrSwap(unfinished, DevicePath(device));
  if (error == 0) error = SyncFolder(path_ + "/devices", calls);
  if (error != 0) {
    return Status::Unavailable("cannot keep " + DevicePath(device) + ": " +
                               std::generic_category().message(error));
  }
  fs::remove_all(unfinished, ignored);  // what it took the place of
  if (Status status = UpdateBroker(now_s); !status.ok()) return status;
  return DevicePath(device) + "/" + device + ".tar";
}

Status ClusterFolder::Revoke(const std::string& device, int64_t now_s) {
  const std::string certificate_path = DevicePath(device) + "/device.crt";
  std::error_code ignored;
  if (!net::IsName(device) || !fs::exists(certificate_path, ignored)) {
    return Status::NotFound("no device '" + device +
                            "' is enrolled; `weft cluster list` shows those that are");
  }
  const Result<Member> member = ReadMember(certificate_path, device, "device", now_s);
  if (!member.ok()) return member.status();
  if (member->state == Member::State::kRevoked) {
    return Status::InvalidInput("'" + device + "' is revoked already");
  }
  const Result<Authority> authority = LoadAuthority();
  if (!authority.ok()) return authority.status();
  const Result<std::string> certificate = ReadSmallFile(certificate_path, kMostBytes);
  if (!certificate.ok()) return certificate.status();
  Result<std::string> revocations = authority->Revoke(revocations_, *certificate, now_s);
  if (!revocations.ok()) return revocations.status();
  Status status = WritePrivate(path_ + "/ca/ca.crl", *revocations, std::nullopt);
  if (!status.ok()) return status;
  revocations_ = std::move(*revocations);
  serials_.push_back(member->facts.serial);
  fs::remove(DevicePath(device) + "/" + device + ".tar", ignored);
  return UpdateBroker(now_s);
}

Status ClusterFolder::Renew(const std::string& host, int64_t now_s) {
  ClusterSetting wanted = setting_;
  if (!host.empty()) wanted.host = host;
  Result<ClusterSetting> setting = ParseCluster(ClusterText(wanted));  // as it will be read again
  if (!setting.ok()) return setting.status();
  const Result<Authority> authority = LoadAuthority();
  if (!authority.ok()) return authority.status();
  const std::string broker_path = path_ + "/broker/broker.crt";
  const Result<Member> broker = ReadMember(broker_path, "broker", "broker", now_s);
  if (!broker.ok()) return broker.status();
  std::vector<std::string> hosts = {setting->host};
  for (const std::string& known : broker->facts.hosts) {
    if (CanBeHost(known) && known != setting->host) hosts.push_back(known);
  }
  const auto renew = [&](const std::string& path, const auto& issue) {
    const Result<std::string> key = ReadSmallFile(path + ".key", kMostBytes);
    if (!key.ok()) return key.status();
    const Result<Identity> identity = issue(*key);
    if (!identity.ok()) return identity.status();
    return WritePrivate(path + ".crt", identity->certificate, OwnerOf(path + ".key"));
  };
  Status status = renew(path_ + "/broker/broker", [&](const std::string& key) {
    return authority->IssueBroker(hosts, now_s, key);
  });
  for (int shard = 0; status.ok() && shard < setting_.shards; ++shard) {
    status = renew(ServerPath(shard), [&](const std::string& key) {
      return authority->IssueClient(ps::ServerUser(shard, setting_.shards), now_s, key);
    });
  }
  if (!status.ok()) return status;
  Result<std::string> revocations = authority->Revoke(revocations_, "", now_s);
  if (!revocations.ok()) return revocations.status();
  status = WritePrivate(path_ + "/ca/ca.crl", *revocations, std::nullopt);
  if (!status.ok()) return status;
  revocations_ = std::move(*revocations);
  // Last: the certificate is good for the name before anybody is told of it.
  status = WriteIfOther(path_ + kSettingName, ClusterText(*setting), std::nullopt);
  if (!status.ok()) return status;
  setting_ = std::move(*setting);
  return UpdateBroker(now_s);
}

}  // namespace weft::apps
