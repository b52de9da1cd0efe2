// SPDX-License-Identifier: Apache-2.0
// The addresses of a host, without the caller hanging when the name servers do.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/status.h"

namespace weft::net {

// Thread: one. A lookup that is not awaited to its end goes on by itself, on a thread that shares
// nothing with this object; the next call for it waits on.
class NameLookup {
 public:
  explicit NameLookup(std::string host) : host_(std::move(host)) {}

  // In numbers, in the order they should be tried. Unavailable if the name is not known, or not
  // known by the time `give_up` says yes; it is asked some ten times a second.
  Result<std::vector<std::string>> Addresses(const std::function<bool()>& give_up);

 private:
  struct Search;

  std::string host_;
  std::shared_ptr<Search> pending_;
};

}  // namespace weft::net
