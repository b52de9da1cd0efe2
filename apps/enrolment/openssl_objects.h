// SPDX-License-Identifier: Apache-2.0
// OpenSSL's objects, freed when they go, to and from PEM text.
#pragma once

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

namespace weft::apps {

template <auto kFree>
struct FreedBy {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

using BioPtr = std::unique_ptr<BIO, FreedBy<BIO_free_all>>;
using BignumPtr = std::unique_ptr<BIGNUM, FreedBy<BN_clear_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, FreedBy<X509_free>>;
using CrlPtr = std::unique_ptr<X509_CRL, FreedBy<X509_CRL_free>>;
using RevokedPtr = std::unique_ptr<X509_REVOKED, FreedBy<X509_REVOKED_free>>;
using IntegerPtr = std::unique_ptr<ASN1_INTEGER, FreedBy<ASN1_INTEGER_free>>;
using TimePtr = std::unique_ptr<ASN1_TIME, FreedBy<ASN1_TIME_free>>;
using NamesPtr = std::unique_ptr<GENERAL_NAMES, FreedBy<GENERAL_NAMES_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, FreedBy<X509_EXTENSION_free>>;

inline BioPtr ReadingBio(const std::string& text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// nullptr if there is none in `text`.
inline CertificatePtr CertificateOf(const std::string& text) {
  return CertificatePtr(PEM_read_bio_X509(ReadingBio(text).get(), nullptr, nullptr, nullptr));
}

inline CrlPtr CrlOf(const std::string& text) {
  return CrlPtr(PEM_read_bio_X509_CRL(ReadingBio(text).get(), nullptr, nullptr, nullptr));
}

inline KeyPtr KeyOf(const std::string& text) {
  // No password: nobody is asked for one.
  char none[] = "";
  return KeyPtr(PEM_read_bio_PrivateKey(ReadingBio(text).get(), nullptr, nullptr, none));
}

// What `write` puts into a BIO; empty if it fails.
template <typename Write>
std::string PemText(Write write) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (!bio || write(bio.get()) != 1) return "";
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<size_t>(size)};
}

inline std::string PemOf(X509* certificate) {
  return PemText([=](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

inline std::string PemOf(X509_CRL* crl) {
  return PemText([=](BIO* bio) { return PEM_write_bio_X509_CRL(bio, crl); });
}

inline std::string PemOf(EVP_PKEY* key) {
  return PemText([=](BIO* bio) {
    return PEM_write_bio_PKCS8PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

}  // namespace weft::apps
