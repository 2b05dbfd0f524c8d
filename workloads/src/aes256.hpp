// SPDX-License-Identifier: Apache-2.0
// AES-256 encryption (FIPS-197) of single blocks. It records the state before every S-box pass, which
// determines the table addresses of the AES kernel. Written for clarity; not suitable for protecting secrets.
#pragma once

#include <array>
#include <cstdint>

namespace farfault::workloads {

using AesBlock = std::array<std::uint8_t, 16>;
using AesKey = std::array<std::uint8_t, 32>;

inline constexpr int kAesRounds = 14;

class Aes256 {
 public:
  explicit Aes256(AesKey const& key);

  struct Trace {
    std::array<AesBlock, kAesRounds> lookups;  // S-box indices of round 1 to 14, in state order
    AesBlock cipher;
  };
  Trace encrypt(AesBlock const& plain) const;

 private:
  std::array<std::uint8_t, 256> sbox_;
  std::array<std::array<std::uint8_t, 4>, 4 * (kAesRounds + 1)> words_;  // the expanded key
};

}  // namespace farfault::workloads
