// SPDX-License-Identifier: Apache-2.0
#include "apps/enrolment/authority.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <span>
#include <utility>

#include "apps/enrolment/openssl_objects.h"
#include "core/hex_text.h"

namespace weft::apps {
namespace {

constexpr const char* kAuthorityCn = "weft cluster authority";
constexpr int kDaysPerYear = 365;
constexpr int kEarlyDays = 1;

std::vector<std::string> HostsOf(const X509* certificate) {
  std::vector<std::string> hosts;
  const NamesPtr names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_DNS && name->type != GEN_IPADD) continue;
    const ASN1_STRING* text = name->type == GEN_DNS ? name->d.dNSName : name->d.iPAddress;
    const auto* bytes = ASN1_STRING_get0_data(text);
    const auto size = static_cast<size_t>(ASN1_STRING_length(text));
    if (name->type == GEN_DNS) {
      hosts.emplace_back(reinterpret_cast<const char*>(bytes), size);
    } else if (size == sizeof(in_addr) || size == sizeof(in6_addr)) {
      char address[INET6_ADDRSTRLEN] = {};
      inet_ntop(size == sizeof(in_addr) ? AF_INET : AF_INET6, bytes, address, sizeof(address));
      hosts.emplace_back(address);
    }
  }
  return hosts;
}

Status OpenSslFailed(const std::string& doing) {
  char text[256] = "no reason given";
  if (const unsigned long code = ERR_get_error(); code != 0) {
    ERR_error_string_n(code, text, sizeof(text));
  }
  ERR_clear_error();
  return Status::Unavailable("OpenSSL failed while " + doing + ": " + text);
}

// 127 random bits: never 0 in practice, never negative, never the same twice.
IntegerPtr RandomSerial() {
  const BignumPtr number(BN_new());
  if (!number || BN_rand(number.get(), 127, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) != 1) {
    return nullptr;
  }
  return IntegerPtr(BN_to_ASN1_INTEGER(number.get(), nullptr));
}

std::string HexOf(const ASN1_INTEGER* number) {
  const BignumPtr bignum(ASN1_INTEGER_to_BN(number, nullptr));
  if (!bignum) return "";
  char* digits = BN_bn2hex(bignum.get());
  const std::string text = digits == nullptr ? "" : digits;
  OPENSSL_free(digits);
  return text;
}

TimePtr TimeAfter(int64_t now_s, int days) {
  return TimePtr(ASN1_TIME_adj(nullptr, static_cast<time_t>(now_s), days, 0));
}

struct Extension {
  int nid;
  std::string value;
};

// A certificate for `key`, unsigned. `issuer` is nullptr for one that signs itself.
CertificatePtr Draft(const std::string& cn, EVP_PKEY* key, X509* issuer, int years, int64_t now_s,
                     const std::vector<Extension>& extensions) {
  CertificatePtr draft(X509_new());
  const IntegerPtr serial = RandomSerial();
  const TimePtr begin = TimeAfter(now_s, -kEarlyDays);
  const TimePtr end = TimeAfter(now_s, years * kDaysPerYear);
  if (!draft || !serial || !begin || !end) return nullptr;
  X509* x = draft.get();
  X509_NAME* subject = X509_get_subject_name(x);
  X509* signer = issuer == nullptr ? x : issuer;
  const auto* cn_bytes = reinterpret_cast<const unsigned char*>(cn.data());
  if (X509_set_version(x, X509_VERSION_3) != 1 || X509_set_serialNumber(x, serial.get()) != 1 ||
      X509_set1_notBefore(x, begin.get()) != 1 || X509_set1_notAfter(x, end.get()) != 1 ||
      X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8, cn_bytes,
                                 static_cast<int>(cn.size()), -1, 0) != 1 ||
      X509_set_issuer_name(x, X509_get_subject_name(signer)) != 1 || X509_set_pubkey(x, key) != 1) {
    return nullptr;
  }
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, signer, x, nullptr, nullptr, 0);
  for (const auto& [nid, value] : extensions) {
    const ExtensionPtr made(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
    if (!made || X509_add_ext(x, made.get(), -1) != 1) return nullptr;
  }
  return draft;
}

Result<Identity> Finish(X509* draft, EVP_PKEY* key, EVP_PKEY* signer) {
  if (draft == nullptr || X509_sign(draft, signer, EVP_sha256()) == 0) {
    return OpenSslFailed("making a certificate");
  }
  Identity made{.certificate = PemOf(draft), .key = PemOf(key)};
  if (made.certificate.empty() || made.key.empty()) return OpenSslFailed("writing a certificate");
  return made;
}

Result<Identity> Issue(const Identity& authority, const std::string& cn, int64_t now_s,
                       const std::string& known_key, std::vector<Extension> extensions) {
  const CertificatePtr issuer = CertificateOf(authority.certificate);
  const KeyPtr signer = KeyOf(authority.key);
  const KeyPtr key = known_key.empty() ? KeyPtr(EVP_EC_gen("P-256")) : KeyOf(known_key);
  if (!issuer || !signer || !key) return OpenSslFailed("making a key");
  for (const auto& [nid, value] : {Extension{NID_basic_constraints, "critical,CA:FALSE"},
                                   Extension{NID_key_usage, "critical,digitalSignature"},
                                   Extension{NID_subject_key_identifier, "hash"},
                                   Extension{NID_authority_key_identifier, "keyid:always"}}) {
    extensions.push_back({nid, value});
  }
  const CertificatePtr draft =
      Draft(cn, key.get(), issuer.get(), Authority::kYears, now_s, extensions);
  return Finish(draft.get(), key.get(), signer.get());
}

// Copies what `before` lists and continues its numbers.
bool CopyRevoked(X509_CRL* before, X509_CRL* crl, BIGNUM* number) {
  const IntegerPtr old(
      static_cast<ASN1_INTEGER*>(X509_CRL_get_ext_d2i(before, NID_crl_number, nullptr, nullptr)));
  if (!old || ASN1_INTEGER_to_BN(old.get(), number) == nullptr) return false;
  STACK_OF(X509_REVOKED)* listed = X509_CRL_get_REVOKED(before);
  for (int i = 0; i < sk_X509_REVOKED_num(listed); ++i) {
    RevokedPtr copy(X509_REVOKED_dup(sk_X509_REVOKED_value(listed, i)));
    if (!copy || X509_CRL_add0_revoked(crl, copy.get()) != 1) return false;
    [[maybe_unused]] X509_REVOKED* given_away = copy.release();
  }
  return true;
}

bool AddRevoked(X509_CRL* crl, X509* certificate, ASN1_TIME* now) {
  RevokedPtr entry(X509_REVOKED_new());
  if (!entry ||
      X509_REVOKED_set_serialNumber(entry.get(), X509_get_serialNumber(certificate)) != 1 ||
      X509_REVOKED_set_revocationDate(entry.get(), now) != 1 ||
      X509_CRL_add0_revoked(crl, entry.get()) != 1) {
    return false;
  }
  [[maybe_unused]] X509_REVOKED* given_away = entry.release();
  return true;
}

}  // namespace

bool IsAddress(const std::string& host) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

Result<CertificateFacts> ReadCertificate(const std::string& certificate, int64_t now_s) {
  const CertificatePtr read = CertificateOf(certificate);
  char cn[256];
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int digest_size = 0;
  tm end{};
  if (!read ||
      X509_NAME_get_text_by_NID(X509_get_subject_name(read.get()), NID_commonName, cn, sizeof(cn)) <
          0 ||
      X509_digest(read.get(), EVP_sha256(), digest, &digest_size) != 1 ||
      ASN1_TIME_to_tm(X509_get0_notAfter(read.get()), &end) != 1) {
    ERR_clear_error();
    return Status::InvalidInput("no certificate can be read in it");
  }
  auto now = static_cast<time_t>(now_s);
  const TimePtr from = TimeAfter(now_s, 0);
  int days = 0;
  int seconds = 0;
  ASN1_TIME_diff(&days, &seconds, from.get(), X509_get0_notAfter(read.get()));
  char expires[64];
  std::strftime(expires, sizeof(expires), "%Y-%m-%dT%H:%M:%SZ", &end);
  return CertificateFacts{.name = cn,
                          .serial = HexOf(X509_get0_serialNumber(read.get())),
                          .fingerprint = HexText(std::as_bytes(std::span(digest, digest_size))),
                          .expires = expires,
                          .expired = X509_cmp_time(X509_get0_notAfter(read.get()), &now) < 0,
                          .days_left = std::max(0, days),
                          .hosts = HostsOf(read.get())};
}

Result<std::vector<std::string>> ReadRevoked(const std::string& revocations) {
  const CrlPtr crl = CrlOf(revocations);
  if (!crl) {
    ERR_clear_error();
    return Status::InvalidInput("no list of revoked certificates can be read in it");
  }
  std::vector<std::string> serials;
  STACK_OF(X509_REVOKED)* listed = X509_CRL_get_REVOKED(crl.get());
  for (int i = 0; i < sk_X509_REVOKED_num(listed); ++i) {
    serials.push_back(HexOf(X509_REVOKED_get0_serialNumber(sk_X509_REVOKED_value(listed, i))));
  }
  return serials;
}

Result<Identity> Authority::Create(int64_t now_s) {
  const KeyPtr key(EVP_EC_gen("P-256"));
  if (!key) return OpenSslFailed("making a key");
  const CertificatePtr draft = Draft(kAuthorityCn, key.get(), nullptr, kAuthorityYears, now_s,
                                     {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                                      {NID_key_usage, "critical,keyCertSign,cRLSign"},
                                      {NID_subject_key_identifier, "hash"}});
  return Finish(draft.get(), key.get(), key.get());
}

Result<Authority> Authority::Load(Identity identity) {
  const CertificatePtr certificate = CertificateOf(identity.certificate);
  const KeyPtr key = KeyOf(identity.key);
  const bool good = certificate && key && X509_check_ca(certificate.get()) == 1 &&
                    X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (!good) return Status::InvalidInput("they are not an authority's certificate and its key");
  return Authority(std::move(identity));
}

Result<Identity> Authority::IssueBroker(const std::vector<std::string>& hosts, int64_t now_s,
                                        const std::string& key) const {
  std::string names;
  for (const std::string& host : hosts) {
    names += (names.empty() ? "" : ",") + std::string(IsAddress(host) ? "IP:" : "DNS:") + host;
  }
  // A common name has room for 64 letters; clients go by the other names anyway.
  const std::string& first = hosts.front();
  return Issue(identity_, first.size() <= 64 ? first : "weft broker", now_s, key,
               {{NID_ext_key_usage, "serverAuth"}, {NID_subject_alt_name, names}});
}

Result<Identity> Authority::IssueClient(const std::string& name, int64_t now_s,
                                        const std::string& key) const {
  return Issue(identity_, name, now_s, key, {{NID_ext_key_usage, "clientAuth"}});
}

Result<std::string> Authority::Revoke(const std::string& before, const std::string& certificate,
                                      int64_t now_s) const {
  const CertificatePtr issuer = CertificateOf(identity_.certificate);
  const KeyPtr signer = KeyOf(identity_.key);
  const CrlPtr crl(X509_CRL_new());
  const BignumPtr number(BN_new());
  const TimePtr now = TimeAfter(now_s, 0);
  const TimePtr begin = TimeAfter(now_s, -kEarlyDays);
  const TimePtr next = TimeAfter(now_s, kYears * kDaysPerYear);
  if (!issuer || !signer || !crl || !number || !now || !begin || !next ||
      X509_CRL_set_version(crl.get(), X509_CRL_VERSION_2) != 1 ||
      X509_CRL_set_issuer_name(crl.get(), X509_get_subject_name(issuer.get())) != 1 ||
      X509_CRL_set1_lastUpdate(crl.get(), begin.get()) != 1 ||
      X509_CRL_set1_nextUpdate(crl.get(), next.get()) != 1) {
    return OpenSslFailed("making a list of revoked certificates");
  }
  if (!before.empty()) {
    const CrlPtr old = CrlOf(before);
    if (!old || !CopyRevoked(old.get(), crl.get(), number.get())) {
      return OpenSslFailed("reading the list of revoked certificates");
    }
  }
  if (!certificate.empty()) {
    const CertificatePtr revoked = CertificateOf(certificate);
    if (!revoked || !AddRevoked(crl.get(), revoked.get(), now.get())) {
      return OpenSslFailed("revoking a certificate");
    }
  }
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer.get(), nullptr, nullptr, crl.get(), 0);
  const ExtensionPtr key_id(
      X509V3_EXT_conf_nid(nullptr, &context, NID_authority_key_identifier, "keyid:always"));
  const IntegerPtr next_number(
      BN_add_word(number.get(), 1) == 1 ? BN_to_ASN1_INTEGER(number.get(), nullptr) : nullptr);
  if (!key_id || !next_number || X509_CRL_add_ext(crl.get(), key_id.get(), -1) != 1 ||
      X509_CRL_add1_ext_i2d(crl.get(), NID_crl_number, next_number.get(), 0, 0) != 1 ||
      X509_CRL_sort(crl.get()) != 1 || X509_CRL_sign(crl.get(), signer.get(), EVP_sha256()) == 0) {
    return OpenSslFailed("signing the list of revoked certificates");
  }
  return PemOf(crl.get());
}

}  // namespace weft::apps
