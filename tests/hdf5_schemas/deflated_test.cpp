// SPDX-License-Identifier: Apache-2.0
#include "writing/deflated.hpp"

#include <doctest/doctest.h>
#include <zlib.h>

#include <cstdint>
#include <vector>

namespace deflated_test {

using farfault::results::deflated;

namespace {

using Bytes = std::vector<std::byte>;

Bytes inflated(Bytes const& from, std::size_t size) {
  Bytes to(size + 1);
  auto length = static_cast<uLongf>(to.size());
  REQUIRE(::uncompress(reinterpret_cast<unsigned char*>(to.data()), &length,
                       reinterpret_cast<unsigned char const*>(from.data()), from.size()) == Z_OK);
  to.resize(length);
  return to;
}

// `used` bytes, two of three of them zero, and zeros up to `size`.
Bytes sparse(std::size_t size, std::size_t used) {
  Bytes bytes(size);
  std::uint64_t random = size;
  for (std::size_t i = 0; i < used; ++i) {
    random = random * 6364136223846793005 + 1442695040888963407;
    if (random >> 62 == 0) bytes[i] = static_cast<std::byte>(random >> 40);
  }
  return bytes;
}

}  // namespace

TEST_CASE("zlib inflates any bytes with any number of zeros at their end") {
  for (std::size_t const size : {0U, 1U, 4095U, 4096U, 4097U, 8192U, 65'536U, 69'632U, 200'000U, 1U << 20})
    for (auto const used : {std::size_t{0}, std::size_t{1}, size / 2, size - size / 8, size}) {
      if (used > size) continue;
      CAPTURE(size);
      CAPTURE(used);
      auto const bytes = sparse(size, used);
      CHECK(inflated(deflated(bytes, used), size) == bytes);
    }
}

TEST_CASE("zeros take about a thousandth of their size, and less time than other bytes") {
  Bytes const zeros(1 << 20);
  CHECK(deflated(zeros, 0).size() < zeros.size() / 700);
  // HDF5's readers refuse data that inflates more than 1,100-fold (walk.cpp).
  CHECK(deflated(zeros, 0).size() > zeros.size() / 1100);
  auto const used = sparse(1 << 20, 1 << 12);
  CHECK(deflated(used, 1 << 12).size() <
        deflated(sparse(1 << 12, 1 << 12), 1 << 12).size() + (1 << 20) / 700);
}

}  // namespace deflated_test
