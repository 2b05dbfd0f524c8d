// SPDX-License-Identifier: Apache-2.0
// The hashes of the digest (farfault/results/digest.hpp).
//
// - Hash128: of a sequence of words. Two 64-bit lanes, each updated by every word and by the other lane; two
//   final rounds of full avalanche. Detects differences, does not resist forgery.
// - ValueHash: of the numbers of a dataset, row by row, in any number of calls. A value counts, with its
//   position, if it differs from the value above it (in the first row: from 0). Most statistics do not change
//   between samples, so their rows cost a comparison. Together with the shape, equal hashes mean equal
//   values.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace farfault::results {

class Hash128 {
 public:
  void word(std::uint64_t w) {
    a_ = std::rotl(a_ ^ std::rotl(w * kA, 31) * kB, 27) + b_;
    a_ = a_ * 5 + 0x9e3779b97f4a7c15;
    b_ = std::rotl(b_ ^ std::rotl(w * kB, 33) * kA, 31) + a_;
    b_ = b_ * 5 + 0xc2b2ae3d27d4eb4f;
    ++count_;
  }
  void text(std::string_view s) {
    word(s.size());
    for (std::size_t at = 0; at < s.size(); at += 8) {
      std::uint64_t w = 0;
      for (std::size_t i = std::min(s.size() - at, std::size_t{8}); i-- > 0;)
        w = w << 8 | static_cast<unsigned char>(s[at + i]);
      word(w);
    }
  }
  // The hash of the words so far.
  std::array<std::uint64_t, 2> value() const {
    auto h = *this;
    h.word(count_);
    for (int round = 0; round < 2; ++round) {
      h.a_ = avalanche(h.a_ + h.b_);
      h.b_ = avalanche(h.b_ + h.a_);
    }
    return {h.a_, h.b_};
  }
  std::string hex() const {
    std::string digits;
    for (auto const half : value())
      for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[half >> shift & 15];
    return digits;
  }

 private:
  static constexpr std::uint64_t kA = 0x9fb21c651e98df25, kB = 0xd6e8feb86659fd93;
  static std::uint64_t avalanche(std::uint64_t x) {
    x = (x ^ x >> 32) * kB;
    x = (x ^ x >> 29) * kA;
    return x ^ x >> 32;
  }
  std::uint64_t a_ = 0x243f6a8885a308d3, b_ = 0x13198a2e03707344, count_ = 0;
};

class ValueHash {
 public:
  explicit ValueHash(std::size_t row_values) : above_(row_values, 0) {}

  void add(std::uint64_t rows, std::uint64_t const* words) {
    if (above_.empty()) return;
    for (; rows != 0; --rows, words += above_.size(), row_ += above_.size()) add_row(words);
  }
  std::array<std::uint64_t, 2> value() const { return hash_.value(); }

 private:
  static constexpr std::size_t kBlock = 32;  // values compared at once

  void add_row(std::uint64_t const* words) {
    auto* const above = above_.data();
    for (std::size_t i = 0; i < above_.size();) {
      auto const next = std::min(i + kBlock, above_.size());
      if (std::equal(words + i, words + next, above + i)) {
        i = next;
        continue;
      }
      for (; i < next; ++i) {
        if (words[i] == above[i]) continue;
        above[i] = words[i];
        hash_.word(row_ + i);
        hash_.word(words[i]);
      }
    }
  }

  Hash128 hash_;
  std::vector<std::uint64_t> above_;  // the row above
  std::uint64_t row_ = 0;             // position of the next row's first value
};

}  // namespace farfault::results
