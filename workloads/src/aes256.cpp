// SPDX-License-Identifier: Apache-2.0
#include "aes256.hpp"

#include <bit>
#include <utility>

namespace farfault::workloads {
namespace {

constexpr std::uint8_t doubled(std::uint8_t v) {
  return static_cast<std::uint8_t>((v << 1) ^ ((v & 0x80) != 0 ? 0x1b : 0));
}

// FIPS-197, 5.1.1: the inverse in GF(2^8), then an affine map. p iterates over all nonzero elements as powers
// of 3, q over their inverses.
std::array<std::uint8_t, 256> make_sbox() {
  std::array<std::uint8_t, 256> sbox{};
  std::uint8_t p = 1;
  std::uint8_t q = 1;
  do {
    p = static_cast<std::uint8_t>(p ^ doubled(p));
    q = static_cast<std::uint8_t>(q ^ (q << 1));
    q = static_cast<std::uint8_t>(q ^ (q << 2));
    q = static_cast<std::uint8_t>(q ^ (q << 4));
    if ((q & 0x80) != 0) q ^= 0x09;
    auto const affine = q ^ std::rotl(q, 1) ^ std::rotl(q, 2) ^ std::rotl(q, 3) ^ std::rotl(q, 4);
    sbox[p] = static_cast<std::uint8_t>(affine ^ 0x63);
  } while (p != 1);
  sbox[0] = 0x63;
  return sbox;
}

AesBlock shifted_rows(AesBlock const& s) {
  AesBlock out;
  for (std::size_t column = 0; column < 4; ++column)
    for (std::size_t row = 0; row < 4; ++row) out[4 * column + row] = s[4 * ((column + row) % 4) + row];
  return out;
}

void mix_columns(AesBlock& s) {
  for (std::size_t c = 0; c < 16; c += 4) {
    auto const a0 = s[c], a1 = s[c + 1], a2 = s[c + 2], a3 = s[c + 3];
    auto const all = static_cast<std::uint8_t>(a0 ^ a1 ^ a2 ^ a3);
    s[c] = static_cast<std::uint8_t>(a0 ^ all ^ doubled(a0 ^ a1));
    s[c + 1] = static_cast<std::uint8_t>(a1 ^ all ^ doubled(a1 ^ a2));
    s[c + 2] = static_cast<std::uint8_t>(a2 ^ all ^ doubled(a2 ^ a3));
    s[c + 3] = static_cast<std::uint8_t>(a3 ^ all ^ doubled(a3 ^ a0));
  }
}

}  // namespace

Aes256::Aes256(AesKey const& key) : sbox_(make_sbox()), words_{} {
  for (std::size_t i = 0; i < 32; ++i) words_[i / 4][i % 4] = key[i];
  std::uint8_t constant = 1;
  for (std::size_t i = 8; i < words_.size(); ++i) {
    auto t = words_[i - 1];
    if (i % 8 == 0) {
      t = {sbox_[t[1]], sbox_[t[2]], sbox_[t[3]], sbox_[t[0]]};
      t[0] ^= constant;
      constant = doubled(constant);
    } else if (i % 8 == 4) {
      for (auto& b : t) b = sbox_[b];
    }
    for (std::size_t b = 0; b < 4; ++b) words_[i][b] = words_[i - 8][b] ^ t[b];
  }
}

Aes256::Trace Aes256::encrypt(AesBlock const& plain) const {
  Trace trace;
  auto state = plain;
  auto const add_key = [&](std::size_t round) {
    for (std::size_t i = 0; i < 16; ++i) state[i] ^= words_[4 * round + i / 4][i % 4];
  };
  add_key(0);
  for (std::size_t round = 1; round <= kAesRounds; ++round) {
    trace.lookups[round - 1] = state;
    for (auto& b : state) b = sbox_[b];
    state = shifted_rows(state);
    if (round < kAesRounds) mix_columns(state);
    add_key(round);
  }
  trace.cipher = state;
  return trace;
}

}  // namespace farfault::workloads
