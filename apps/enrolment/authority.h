// SPDX-License-Identifier: Apache-2.0
// The authority of a cluster: it signs who the broker, the server and the devices are, and lists
// whom to trust no more. Keys are on the curve P-256, certificates X.509 v3, everything PEM text.
// Pure: nothing here reads a file, and the caller says what time it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"

namespace weft::apps {

// A certificate and its key.
struct Identity {
  std::string certificate;
  std::string key;
};

// What a certificate says.
struct CertificateFacts {
  std::string name;         // its common name
  std::string serial;       // in hexadecimal digits
  std::string fingerprint;  // SHA-256 in lower-case hexadecimal digits
  std::string expires;      // "2036-11-15T00:23:25Z"
  bool expired = false;     // at the time that was given
  int days_left = 0;        // from then on; 0 if it is expired
  // Names, and addresses in numbers, of the server that it is for.
  std::vector<std::string> hosts = {};
};

// InvalidInput if it is none.
Result<CertificateFacts> ReadCertificate(const std::string& certificate, int64_t now_s);

// The serials in a list of revoked certificates. InvalidInput if it is none.
Result<std::vector<std::string>> ReadRevoked(const std::string& revocations);

class Authority {
 public:
  static constexpr int kAuthorityYears = 20;
  // Of certificates, and until a list of revocations wants to be written again. It is written at
  // every revocation; a broker refuses everybody once it is older than this.
  static constexpr int kYears = 10;

  // A new one, good from a day before `now_s`: the clocks of boards are often late.
  static Result<Identity> Create(int64_t now_s);
  // InvalidInput if they are not an authority's certificate and its key.
  static Result<Authority> Load(Identity identity);

  // For a server that is reached as each of `hosts`, names or addresses in numbers. With a new key,
  // unless one is given.
  Result<Identity> IssueBroker(const std::vector<std::string>& hosts, int64_t now_s,
                               const std::string& key = {}) const;
  // For a client that is to be `name`; as to the key, as above.
  Result<Identity> IssueClient(const std::string& name, int64_t now_s,
                               const std::string& key = {}) const;

  // The list that follows `before` (empty: the first), with `certificate` (empty: none) added.
  Result<std::string> Revoke(const std::string& before, const std::string& certificate,
                             int64_t now_s) const;

  const std::string& certificate() const { return identity_.certificate; }

 private:
  explicit Authority(Identity identity) : identity_(std::move(identity)) {}

  Identity identity_;
};

// Whether `host` is an address in numbers, rather than a name.
bool IsAddress(const std::string& host);

}  // namespace weft::apps
