// SPDX-License-Identifier: Apache-2.0
#include "apps/doctor/own_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <vector>

#include "apps/doctor/certificate_file.h"
#include "apps/terminal/text.h"

namespace weft::apps {
namespace {

constexpr int64_t kDay = 24 * 3600;
constexpr const char* kEnrolAnew =
    "have a new certificate made (`weft cluster add`) and put its files here";
constexpr const char* kLookAtClock = "see whether the clock runs fast, and set it if so";
constexpr const char* kSetClock = "set the clock, as with `timedatectl set-ntp true`";

}  // namespace

std::string DateText(int64_t unix_s) {
  const auto time = static_cast<std::time_t>(unix_s);
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &parts);
  return text;
}

Finding CheckKeyFile(const std::string& key_file) {
  struct stat file {};
  if (stat(key_file.c_str(), &file) != 0) {
    return Bad(key_file + ": " + std::strerror(errno),
               "give the path of this side's key with --key");
  }
  const unsigned mode = file.st_mode & 0777;
  const std::string mode_text = fmt::format("{} has mode {:04o}", key_file, mode);
  if ((mode & 0027) != 0) {
    return Bad(
        mode_text + ": others than its owner can use it",
        "chmod 600 " + key_file + ", and if others were on this machine, have a new one made");
  }
  if (faccessat(AT_FDCWD, key_file.c_str(), R_OK, AT_EACCESS) != 0) {
    return Bad(fmt::format("{}, and this user ({}) cannot read it", mode_text, geteuid()),
               "run this as the user that trains or serves, or with sudo");
  }
  return Good(mode_text);
}

Finding CheckCertificate(const net::MqttSetting& broker, const std::string& identity,
                         const std::string& flag, int64_t now_s) {
  Result<CertificatePtr> authority = CertificateIn(broker.ca_file);
  if (!authority.ok()) {
    return Bad(authority.status().message(),
               "give the certificate of the broker's authority with --ca");
  }
  const auto expired = [&](const std::string& file, int64_t until) {
    return fmt::format("{} expired on {}, and the clock says {}", file, DateText(until),
                       DateText(now_s));
  };
  if (const int64_t until = ValidUntil(authority->get()); until < now_s) {
    return Bad(expired(broker.ca_file, until),
               std::string(kLookAtClock) + "; if it is right, make the cluster anew");
  }
  if (broker.certificate_file.empty()) {
    return Doubtful("only the broker's certificate is checked, this side has none",
                    "give --cert and --key, unless the broker knows its clients by other means");
  }
  Result<CertificatePtr> own = CertificateIn(broker.certificate_file);
  if (!own.ok()) return Bad(own.status(), "give this side's certificate with --cert");
  Result<KeyPtr> key = KeyIn(broker.key_file);
  if (!key.ok()) return Bad(key.status(), "give the certificate's key with --key");
  if (X509_check_private_key(own->get(), key->get()) != 1) {
    return Bad(broker.key_file + " is not the key of " + broker.certificate_file,
               "copy both from the same bundle");
  }
  const std::string name = CommonName(own->get());
  if (name != identity) {
    return Bad(fmt::format("{} is the certificate of '{}', and {} is '{}'", broker.certificate_file,
                           name, flag, identity),
               "use one name for both: the broker goes by the certificate");
  }
  const int64_t until = ValidUntil(own->get());
  if (until < now_s) return Bad(expired(broker.certificate_file, until), kEnrolAnew);
  const std::string detail = fmt::format("'{}', valid until {}", name, DateText(until));
  if (until - now_s < 14 * kDay) return Doubtful(detail, kEnrolAnew);
  return Good(detail);
}

Finding CheckClock(const net::MqttSetting& broker, int64_t now_s) {
  const std::string now = "the clock is not set: it says " + DateText(now_s);
  constexpr int64_t kBuilt = WEFT_BUILD_TIME;
  if (now_s < kBuilt) {
    return Bad(fmt::format("{}, and this program was built on {}", now, DateText(kBuilt)),
               kSetClock);
  }
  std::vector<std::string> expired;
  for (const std::string& file : {broker.certificate_file, broker.ca_file}) {
    if (file.empty()) continue;
    const Result<CertificatePtr> certificate = CertificateIn(file);
    if (!certificate.ok()) continue;  // told elsewhere
    const int64_t from = ValidFrom(certificate->get());
    if (now_s < from) {
      return Bad(fmt::format("{}, and {} is valid from {} on", now, file, DateText(from)),
                 kSetClock);
    }
    if (ValidUntil(certificate->get()) < now_s) expired.push_back(file);
  }
  // A device's certificate may have run out. That its authority's has, too, is rather the clock.
  if (expired.size() > 1) {
    return Doubtful(fmt::format("it says {}, and by then both {} and {} have expired",
                                DateText(now_s), expired[0], expired[1]),
                    kLookAtClock);
  }
  return Good(DateText(now_s));
}

Finding CheckFolder(const std::string& folder, int64_t bytes, const std::string& flag) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path place = fs::absolute(folder.empty() ? "." : folder, error);
  if (fs::exists(place, error) && !fs::is_directory(place, error)) {
    return Bad(folder + " is not a folder", "give a folder with " + flag);
  }
  while (!fs::exists(place, error) && place.has_parent_path() && place != place.parent_path()) {
    place = place.parent_path();  // it will be made, down from the first there is
  }
  if (faccessat(AT_FDCWD, place.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    return Bad(
        fmt::format("nothing can be written to {}: {}", place.string(), std::strerror(errno)),
        "give this user the right to, or another folder with " + flag);
  }
  struct statvfs disk {};
  if (statvfs(place.c_str(), &disk) != 0) {
    return Bad(place.string() + ": " + std::strerror(errno), "give another folder with " + flag);
  }
  const auto free = static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize);
  const std::string detail = fmt::format("{} free for {}, and {} are needed", BytesText(free),
                                         folder.empty() ? "." : folder, BytesText(bytes));
  if (free < bytes) return Bad(detail, "make room, or give a folder on another disk with " + flag);
  if (free < 2 * bytes) return Doubtful(detail, "that is little more; make room");
  return Good(detail);
}

Finding CheckCheckpoints(const std::string& folder, int64_t bytes, const std::string& flag) {
  Finding finding = CheckFolder(folder, bytes, flag);
  if (finding.state == CheckState::kFails) return finding;
  const std::string lock = folder + "/lock";
  if (faccessat(AT_FDCWD, lock.c_str(), W_OK, AT_EACCESS) == 0 || errno == ENOENT) return finding;
  return Bad(fmt::format("{} is another's: {}", lock, std::strerror(errno)),
             "give this user all of it, or another folder with " + flag);
}

}  // namespace weft::apps
