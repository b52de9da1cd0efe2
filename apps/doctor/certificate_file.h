// SPDX-License-Identifier: Apache-2.0
// Certificates in PEM files, and whom and when they are for.
#pragma once

#include <cstdint>
#include <string>

#include "apps/enrolment/openssl_objects.h"
#include "core/status.h"

namespace weft::apps {

// The first of the file. NotFound: no such file, or no right to read it. InvalidInput: it holds
// none.
Result<CertificatePtr> CertificateIn(const std::string& path);
Result<KeyPtr> KeyIn(const std::string& path);

std::string CommonName(const X509* certificate);  // empty: it has none
// In Unix seconds.
int64_t ValidFrom(const X509* certificate);
int64_t ValidUntil(const X509* certificate);

}  // namespace weft::apps
