// SPDX-License-Identifier: Apache-2.0
#include "tests/doctor/dated_certificate.h"

#include <openssl/ec.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <functional>

#include "apps/doctor/certificate_file.h"

namespace weft::apps {
namespace {

void Must(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s failed\n", what);
  std::abort();
}

void AddExtension(X509* certificate, X509* authority, int kind, const std::string& value) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, authority, certificate, nullptr, nullptr, 0);
  const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  Must(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1, "extension");
}

}  // namespace

void MakeDated(const net::Certificates& files, const std::string& name,
               const std::string& authority, const std::string& hosts, int64_t from_s,
               int64_t until_s) {
  const CertificatePtr ca = CertificateIn(files.Certificate(authority)).value();
  const KeyPtr ca_key = KeyIn(files.Key(authority)).value();
  const KeyPtr key(EVP_EC_gen("P-256"));
  const CertificatePtr made(X509_new());
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(made.get()),
                          0x1000 + std::hash<std::string>()(name) % 0xFFFF);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), from_s);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), until_s);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(made.get(), X509_get_subject_name(ca.get()));
  X509_set_pubkey(made.get(), key.get());
  if (hosts.empty()) {
    AddExtension(made.get(), ca.get(), NID_ext_key_usage, "clientAuth");
  } else {
    AddExtension(made.get(), ca.get(), NID_subject_alt_name, hosts);
  }
  Must(X509_sign(made.get(), ca_key.get(), EVP_sha256()) > 0, "signing");
  WriteAll(files.Certificate(name), PemOf(made.get()));
  WriteAll(files.Key(name), PemOf(key.get()));
  chmod(files.Key(name).c_str(), 0600);
}

void WriteRevoked(const net::Certificates& files, const std::string& authority,
                  const std::string& revoked, const std::string& path, int64_t from_s,
                  int64_t until_s) {
  const CertificatePtr ca = CertificateIn(files.Certificate(authority)).value();
  const KeyPtr ca_key = KeyIn(files.Key(authority)).value();
  const CertificatePtr bad = CertificateIn(files.Certificate(revoked)).value();
  const CrlPtr list(X509_CRL_new());
  const TimePtr now(X509_gmtime_adj(nullptr, from_s));
  const TimePtr next(X509_gmtime_adj(nullptr, until_s));
  X509_CRL_set_version(list.get(), 1);
  X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(ca.get()));
  X509_CRL_set1_lastUpdate(list.get(), now.get());
  X509_CRL_set1_nextUpdate(list.get(), next.get());
  X509_REVOKED* entry = X509_REVOKED_new();
  X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(bad.get()));
  X509_REVOKED_set_revocationDate(entry, now.get());
  X509_CRL_add0_revoked(list.get(), entry);
  X509_CRL_sort(list.get());
  Must(X509_CRL_sign(list.get(), ca_key.get(), EVP_sha256()) > 0, "signing a list");
  WriteAll(path, PemOf(list.get()));
}

}  // namespace weft::apps
