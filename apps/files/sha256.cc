// SPDX-License-Identifier: Apache-2.0
#include "apps/files/sha256.h"

#include <openssl/evp.h>

#include <bit>
#include <cassert>
#include <new>

namespace weft::apps {
namespace {

static_assert(std::endian::native == std::endian::little, "files and hashes are little-endian");

// OpenSSL's own answer is 1. Nothing a caller gives can make it fail.
void Require([[maybe_unused]] int answer) { assert(answer == 1); }

}  // namespace

void Sha256::FreeContext::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  if (context_ == nullptr) throw std::bad_alloc();
  Require(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr));
}

void Sha256::Add(std::span<const std::byte> bytes) {
  Require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
}

Sha256Digest Sha256::Finish() {
  Sha256Digest digest;
  Require(
      EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(digest.data()), nullptr));
  return digest;
}

Sha256Digest ModelHash(const train::Parameters& parameters) {
  Sha256 hash;
  const std::span<const model::TensorSpec> tensors = parameters.graph().tensors();
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].role != model::TensorRole::kParameter) continue;
    hash.Add(std::as_bytes(parameters.Tensor(static_cast<model::TensorId>(i))));
  }
  return hash.Finish();
}

}  // namespace weft::apps
