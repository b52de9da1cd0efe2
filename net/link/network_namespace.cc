// SPDX-License-Identifier: Apache-2.0
#include "net/link/network_namespace.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/if.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>
#include <optional>
#include <system_error>
#include <utility>

namespace weft::net {

namespace {

// Where iproute2 keeps names, each a file with the network mounted over it.
constexpr char kFolder[] = "/run/netns";

std::string PathOf(const std::string& name) { return std::string(kFolder) + "/" + name; }

std::string Reason(int error) { return std::generic_category().message(error); }

Status Refusal(const std::string& what, int error) {
  if (error == EPERM || error == EACCES) {
    return Status::Unavailable(
        what + ": not permitted; it takes root, or CAP_SYS_ADMIN with CAP_NET_ADMIN");
  }
  return Status::Unavailable(what + ": " + Reason(error));
}

// Held while names come and go, as iproute2 does.
class FolderLock {
 public:
  static Result<FolderLock> Take() {
    const int folder = open(kFolder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || flock(folder, LOCK_EX) != 0) {
      const int error = errno;
      if (folder >= 0) close(folder);
      return Refusal(std::string("locking ") + kFolder, error);
    }
    return FolderLock(folder);
  }
  FolderLock(FolderLock&& other) noexcept : folder_(std::exchange(other.folder_, -1)) {}
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock() {
    if (folder_ >= 0) close(folder_);
  }

 private:
  explicit FolderLock(int folder) : folder_(folder) {}
  int folder_;
};

// As iproute2 leaves it: names must go in every mount namespace when they go in one.
Status MakeFolder() {
  if (mkdir(kFolder, 0755) != 0 && errno != EEXIST) {
    return Refusal(std::string("making ") + kFolder, errno);
  }
  const Result<FolderLock> lock = FolderLock::Take();
  if (!lock.ok()) return lock.status();
  if (mount("", kFolder, "none", MS_SHARED | MS_REC, nullptr) == 0) return Status::Ok();
  if (errno != EINVAL || mount(kFolder, kFolder, "none", MS_BIND | MS_REC, nullptr) != 0 ||
      mount("", kFolder, "none", MS_SHARED | MS_REC, nullptr) != 0) {
    return Refusal(std::string("mounting ") + kFolder, errno);
  }
  return Status::Ok();
}

// "1234 (sleep)", a process whose network that is.
std::optional<std::string> SomebodyInside(const struct stat& network) {
  const std::unique_ptr<DIR, int (*)(DIR*)> processes(opendir("/proc"), closedir);
  if (processes == nullptr) return std::nullopt;
  while (const dirent* process = readdir(processes.get())) {
    const std::string pid = process->d_name;
    struct stat its;
    if (pid.find_first_not_of("0123456789") != std::string::npos ||
        stat(("/proc/" + pid + "/ns/net").c_str(), &its) != 0 || its.st_ino != network.st_ino ||
        its.st_dev != network.st_dev) {
      continue;
    }
    std::string name;
    std::getline(std::ifstream("/proc/" + pid + "/comm"), name);
    return pid + " (" + name + ")";
  }
  return std::nullopt;
}

void Remove(const std::string& path) {
  umount2(path.c_str(), MNT_DETACH);
  unlink(path.c_str());
}

// Removes what a killed process left under the name.
Status RemoveLeftover(const std::string& name) {
  const std::string path = PathOf(name);
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno == ENOENT ? Status::Ok() : Refusal("opening " + path, errno);
  struct stat network = {};
  std::string owner;
  if (flock(file, LOCK_EX | LOCK_NB) != 0) {
    owner = "another process made it and still runs";
  } else if (fstat(file, &network) == 0) {
    if (const auto process = SomebodyInside(network)) owner = "process " + *process + " is in it";
  }
  close(file);
  if (!owner.empty()) {
    return Status::Unavailable("the network namespace " + name + " is in use: " + owner +
                               "; end that, or take another name");
  }
  Remove(path);
  return Status::Ok();
}

Status BringUpLoopback() {
  const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request = {};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const bool up = any >= 0 && ioctl(any, SIOCSIFFLAGS, &request) == 0;
  const int error = errno;
  if (any >= 0) close(any);
  return up ? Status::Ok() : Refusal("bringing up lo", error);
}

// Calls `work` on a thread of its own, so that only this one changes networks.
Status OnOwnThread(const std::function<Status()>& work) {
  return std::async(std::launch::async, work).get();
}

}  // namespace

Result<std::unique_ptr<NetworkNamespace>> NetworkNamespace::Create(const std::string& name) {
  const bool named = !name.empty() && name.size() <= 64 && name.front() != '.' &&
                     name.front() != '-' && std::all_of(name.begin(), name.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
                     });
  if (!named) {
    return Status::InvalidInput("'" + name +
                                "' is no name for a network namespace: letters, digits, '-', '_' "
                                "and '.', 64 at most, a letter or digit first");
  }
  const std::string what = "making the network namespace " + name;
  if (Status status = MakeFolder(); !status.ok()) return status.WithContext(what);
  const Result<FolderLock> lock = FolderLock::Take();
  if (!lock.ok()) return lock.status().WithContext(what);
  if (Status status = RemoveLeftover(name); !status.ok()) return status;

  const std::string path = PathOf(name);
  const int place = open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
  if (place < 0) return Refusal(what, errno);
  close(place);
  const Status made = OnOwnThread([&]() -> Status {
    if (unshare(CLONE_NEWNET) != 0 ||
        mount("/proc/thread-self/ns/net", path.c_str(), "none", MS_BIND, nullptr) != 0) {
      return Refusal(what, errno);
    }
    return BringUpLoopback();
  });
  const int file = made.ok() ? open(path.c_str(), O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0 || flock(file, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    if (file >= 0) close(file);
    Remove(path);
    return made.ok() ? Refusal(what, error) : made;
  }
  return std::unique_ptr<NetworkNamespace>(new NetworkNamespace(name, file));
}

NetworkNamespace::~NetworkNamespace() {
  // Without the lock, if need be: a name that stays is worse.
  const Result<FolderLock> lock = FolderLock::Take();
  Remove(PathOf(name_));
  close(file_);
}

Status NetworkNamespace::Run(const std::function<Status()>& work) const {
  return OnOwnThread([&]() -> Status {
    if (!Enter()) return Refusal("entering the network namespace " + name_, errno);
    return work();
  });
}

bool NetworkNamespace::Enter() const { return setns(file_, CLONE_NEWNET) == 0; }

}  // namespace weft::net
