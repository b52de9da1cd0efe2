// SPDX-License-Identifier: Apache-2.0
#include "net/mqtt/name_lookup.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace weft::net {

namespace {

// 0, or what gai_strerror explains. `flags` as for getaddrinfo.
int Resolve(const std::string& host, int flags, std::vector<std::string>& addresses) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int failure = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (failure != 0) return failure;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    char text[NI_MAXHOST];
    if (getnameinfo(one->ai_addr, one->ai_addrlen, text, sizeof(text), nullptr, 0,
                    NI_NUMERICHOST) == 0 &&
        std::find(addresses.begin(), addresses.end(), text) == addresses.end()) {
      addresses.emplace_back(text);
    }
  }
  freeaddrinfo(found);
  return 0;
}

}  // namespace

struct NameLookup::Search {
  std::mutex mu;
  std::condition_variable finished;
  // Guarded by mu.
  bool done = false;
  int failure = 0;
  std::vector<std::string> addresses;
};

Result<std::vector<std::string>> NameLookup::Addresses(const std::function<bool()>& give_up) {
  std::vector<std::string> addresses;
  if (Resolve(host_, AI_NUMERICHOST, addresses) == 0) return addresses;

  if (pending_ == nullptr) {
    pending_ = std::make_shared<Search>();
    std::thread([search = pending_, host = host_] {
      std::vector<std::string> found;
      const int failure = Resolve(host, AI_ADDRCONFIG, found);
      const std::lock_guard lock(search->mu);
      search->failure = failure;
      search->addresses = std::move(found);
      search->done = true;
      search->finished.notify_all();
    }).detach();
  }
  {
    std::unique_lock lock(pending_->mu);
    while (!pending_->done) {
      if (give_up()) {
        return Status::Unavailable("the name servers do not answer for " + host_);
      }
      pending_->finished.wait_for(lock, std::chrono::milliseconds(100));
    }
  }
  const std::shared_ptr<Search> search = std::exchange(pending_, nullptr);
  if (search->failure != 0 || search->addresses.empty()) {
    return Status::Unavailable(
        "the name " + host_ +
        " is not known: " + (search->failure != 0 ? gai_strerror(search->failure) : "no address"));
  }
  return search->addresses;
}

}  // namespace weft::net
