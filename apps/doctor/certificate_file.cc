// SPDX-License-Identifier: Apache-2.0
#include "apps/doctor/certificate_file.h"

#include <openssl/err.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>

namespace weft::apps {
namespace {

Result<std::string> TextOf(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Status::NotFound(path + " cannot be read: " + std::strerror(errno));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

int64_t UnixSeconds(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? static_cast<int64_t>(timegm(&parts)) : 0;
}

}  // namespace

Result<CertificatePtr> CertificateIn(const std::string& path) {
  const Result<std::string> text = TextOf(path);
  if (!text.ok()) return text.status();
  CertificatePtr certificate = CertificateOf(*text);
  ERR_clear_error();
  if (certificate == nullptr) return Status::InvalidInput(path + " holds no certificate");
  return certificate;
}

Result<KeyPtr> KeyIn(const std::string& path) {
  const Result<std::string> text = TextOf(path);
  if (!text.ok()) return text.status();
  KeyPtr key = KeyOf(*text);
  ERR_clear_error();
  if (key == nullptr) return Status::InvalidInput(path + " holds no key, or one under a password");
  return key;
}

std::string CommonName(const X509* certificate) {
  char name[256] = "";
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof(name));
  return name;
}

int64_t ValidFrom(const X509* certificate) { return UnixSeconds(X509_get0_notBefore(certificate)); }

int64_t ValidUntil(const X509* certificate) { return UnixSeconds(X509_get0_notAfter(certificate)); }

}  // namespace weft::apps
