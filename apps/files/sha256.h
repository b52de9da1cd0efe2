// SPDX-License-Identifier: Apache-2.0
// SHA-256, by OpenSSL, and the hash by which two machines see whether they hold the same model.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "core/train/parameters.h"

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace weft::apps {

using Sha256Digest = std::array<std::byte, 32>;

// Bytes in, any number of times, then the digest, once.
class Sha256 {
 public:
  Sha256();
  void Add(std::span<const std::byte> bytes);
  Sha256Digest Finish();

 private:
  struct FreeContext {
    void operator()(evp_md_ctx_st* context) const;
  };

  std::unique_ptr<evp_md_ctx_st, FreeContext> context_;
};

// Over the values of all parameters, float32 little-endian, in state_dict order, running statistics
// left out. In PyTorch:
// sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest()
Sha256Digest ModelHash(const train::Parameters& parameters);

}  // namespace weft::apps
