// SPDX-License-Identifier: Apache-2.0
#include "apps/doctor/service_view.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "apps/files/descriptor.h"

namespace weft::apps {
namespace {

namespace fs = std::filesystem;

// This process opens files as that user, of all its groups, until it goes out of scope.
class AsUser {
 public:
  AsUser(const std::string& name, gid_t group, uid_t user) : group_(getegid()) {
    const int count = getgroups(0, nullptr);
    groups_.resize(static_cast<size_t>(count > 0 ? count : 0));
    if (getgroups(count, groups_.data()) < 0) groups_.clear();
    good_ = initgroups(name.c_str(), group) == 0 && setegid(group) == 0 && seteuid(user) == 0;
    error_ = errno;
  }
  ~AsUser() {
    // Whoever goes on with half of another's rights would find what is not there.
    if (seteuid(0) != 0 || setegid(group_) != 0) std::abort();
    setgroups(groups_.size(), groups_.data());
  }
  AsUser(const AsUser&) = delete;
  AsUser& operator=(const AsUser&) = delete;

  bool good() const { return good_; }
  int error() const { return error_; }

 private:
  const gid_t group_;
  std::vector<gid_t> groups_;
  bool good_ = false;
  int error_ = 0;
};

// Relative paths are the service's meanwhile.
class InFolder {
 public:
  explicit InFolder(const std::string& folder)
      : before_(folder.empty() ? -1 : open(".", O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    if (before_.open() && chdir(folder.c_str()) != 0) before_ = Descriptor(-1);
  }
  ~InFolder() {
    if (before_.open() && fchdir(before_.get()) != 0) std::abort();
  }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

 private:
  Descriptor before_;
};

fs::path Resolved(const std::string& path) {
  std::error_code error;
  const fs::path resolved = fs::weakly_canonical(fs::absolute(path, error), error);
  return error ? fs::path(path) : resolved;
}

bool IsBelow(const fs::path& place, const std::string& folder) {
  const fs::path below = place.lexically_relative(Resolved(folder));
  return !below.empty() && *below.begin() != "..";
}

bool IsBelowOne(const fs::path& place, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    if (IsBelow(place, folder)) return true;
  }
  return false;
}

// What systemd makes or gives to the user when the service starts, with all that is in it.
bool WillBeGiven(const fs::path& place, const std::vector<std::string>& made, uid_t user) {
  for (const std::string& folder : made) {
    struct stat facts {};
    if (!IsBelow(place, folder)) continue;
    if (stat(folder.c_str(), &facts) != 0 || facts.st_uid != user) return true;
  }
  return false;
}

// The first folder on the way to `place` that who asks may not enter; empty: none.
std::string ClosedFolder(const fs::path& place) {
  fs::path way;
  for (const fs::path& part : place.parent_path()) {
    way /= part;
    if (faccessat(AT_FDCWD, way.c_str(), X_OK, AT_EACCESS) != 0) {
      return errno == EACCES ? way.string() : "";
    }
  }
  return "";
}

// Whether who asks may do that with it, or with the first folder above it that is there.
bool Allowed(fs::path place, ServiceView::Use use) {
  std::error_code error;
  while (!fs::exists(place, error) && place != place.parent_path()) place = place.parent_path();
  const int right = use == ServiceView::Use::kRead ? R_OK : W_OK;
  return faccessat(AT_FDCWD, place.c_str(), right, AT_EACCESS) == 0;
}

// What makes `place`, or gives it to `user`.
std::string GivingCommand(const fs::path& place, ServiceView::Use use, const std::string& user) {
  std::error_code error;
  const char* command = "chown";
  if (!fs::exists(place, error)) {
    command = "install -d -o";
  } else if (fs::is_directory(place, error) &&
             (use == ServiceView::Use::kRead || Allowed(place, use))) {
    command = "chown -R";  // it is something inside
  }
  return fmt::format("sudo {} {} {}", command, user, place.string());
}

}  // namespace

Finding CheckReadable(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    const Descriptor opened(open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!opened.open()) {
      return Bad(fmt::format("{} cannot be read: {}", file, std::strerror(errno)),
                 "let this user read it");
    }
  }
  return Good("");
}

std::optional<Finding> ServiceView::Wall(const std::string& path, Use use) const {
  const fs::path place = Resolved(path);
  const std::string home = unit_->made.empty() ? "a folder of its own" : unit_->made.front();
  const std::string elsewhere = "move it below " + home;
  if (unit_->home_hidden && !IsBelowOne(place, unit_->shown)) {
    for (const char* hidden : {"/home", "/root", "/run/user"}) {
      if (!IsBelow(place, hidden)) continue;
      return Bad(fmt::format("{} does not see {}, nor anything below {} (ProtectHome)", unit_->name,
                             path, hidden),
                 elsewhere);
    }
  }
  if (unit_->own_tmp && !IsBelowOne(place, unit_->shown)) {
    for (const char* own : {"/tmp", "/var/tmp"}) {
      if (!IsBelow(place, own)) continue;
      return Bad(fmt::format("{} does not see {}: its {} is its own and goes with it (PrivateTmp)",
                             unit_->name, path, own),
                 elsewhere);
    }
  }
  if (use == Use::kWrite && unit_->read_only && !IsBelowOne(place, unit_->made) &&
      !IsBelowOne(place, unit_->writable)) {
    return Bad(
        fmt::format("{} may not write to {} (ProtectSystem)", unit_->name, path),
        fmt::format("give a path below {}, or add ReadWritePaths={} with `systemctl edit {}`", home,
                    place.string(), unit_->name));
  }
  return std::nullopt;
}

Finding ServiceView::Look(const std::vector<std::string>& paths, Use use,
                          const std::function<Finding()>& look,
                          const std::function<Finding()>& as_user) const {
  if (!unit_) return look();
  const InFolder folder(unit_->working_folder);
  for (const std::string& path : paths) {
    if (std::optional<Finding> wall = Wall(path, use)) return *wall;
  }
  Finding mine = look();
  if (geteuid() != 0 || unit_->user.empty() || mine.state == CheckState::kFails) return mine;
  const passwd* entry = getpwnam(unit_->user.c_str());
  if (entry == nullptr) {
    return Bad(fmt::format("{} runs as '{}', and there is no such user", unit_->name, unit_->user),
               "make it with `sudo systemd-sysusers`");
  }
  const uid_t user = entry->pw_uid;
  const gid_t group = entry->pw_gid;
  for (const std::string& path : paths) {
    const fs::path place = Resolved(path);
    if (WillBeGiven(place, unit_->made, user)) continue;
    const AsUser as(unit_->user, group, user);
    if (!as.good()) {
      return Doubtful(fmt::format("{}; as '{}', as whom {} runs, it could not be looked at: {}",
                                  mine.detail, unit_->user, unit_->name, std::strerror(as.error())),
                      fmt::format("run this as that user: sudo -u {}", unit_->user));
    }
    const Finding theirs = as_user();
    if (theirs.state != CheckState::kFails) return mine;
    const std::string detail =
        fmt::format("{} runs as '{}': {}", unit_->name, unit_->user, theirs.detail);
    if (const std::string closed = ClosedFolder(place); !closed.empty()) {
      return Bad(detail,
                 fmt::format("let it through {}, as with `sudo chmod a+x {}`", closed, closed));
    }
    if (Allowed(place, use) && path != paths.back()) continue;  // it is another of them
    return Bad(detail, "give it to that user: " + GivingCommand(place, use, unit_->user));
  }
  return mine;
}

}  // namespace weft::apps
