// SPDX-License-Identifier: Apache-2.0
// Hashes of addresses over banks: each bank has one block of each row; the published functions; strides.
#include "farfault/parts/address_hash.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "choices.hpp"
#include "farfault/parts/address_map.hpp"

namespace address_hash_test {

using namespace farfault;

namespace {

AddressHash::Mask mask_of(std::string const& name) {
  return PolicyChoice<AddressHash>(name).facts().mask;
}
std::vector<std::string> hashes() {
  std::vector<std::string> names;
  for (auto const& name : test::names_of_known<AddressHash>())
    if (mask_of(name) != nullptr) names.push_back(name);
  return names;
}
std::uint64_t bank_of(BankHash const& hash, std::uint64_t block, std::uint32_t banks) {
  return hash.in_turns(block * 256) / 256 % banks;
}
// By definition: subtract multiples of the polynomial, highest bit first.
std::uint64_t remainder(std::uint64_t block, std::uint64_t polynomial) {
  auto const degree = static_cast<int>(std::bit_width(polynomial)) - 1;
  for (auto bit = 63; bit >= degree; --bit)
    if ((block >> bit & 1) != 0) block ^= polynomial << (bit - degree);
  return block;
}
// The maximum number of blocks in a bank, of the first block of each of `rows` rows.
std::uint64_t most_in_a_bank(BankHash const* hash, std::uint32_t banks, std::uint64_t rows,
                             std::uint64_t stride) {
  AddressMap const map(banks, 256, hash);
  std::vector<std::uint64_t> in(banks);
  std::uint64_t most = 0;
  for (std::uint64_t i = 0; i < rows; ++i) most = std::max(most, ++in[map.slice(i * stride * 256)]);
  return most;
}

}  // namespace

TEST_CASE("address hash: each bank has one block of each row, and bytes of a block stay together") {
  CHECK(hashes() == std::vector<std::string>{"ipoly", "xor"});
  for (auto const& name : hashes())
    for (std::uint32_t const banks : {1U, 2U, 3U, 6U, 8U, 12U, 16U, 40U, 64U, 80U, 96U, 256U}) {
      CAPTURE(name);
      CAPTURE(banks);
      BankHash const hash(mask_of(name), banks, 256);
      for (std::uint64_t row = 0; row < 300; ++row) {
        std::set<std::uint64_t> seen;
        for (std::uint64_t b = 0; b < banks; ++b) {
          auto const offset = (row * banks + b) * 256 + row % 256;
          auto const at = hash.in_turns(offset);
          REQUIRE(at / 256 / banks == row);
          REQUIRE(at % 256 == row % 256);
          REQUIRE(hash.offset(at) == offset);
          seen.insert(at / 256 % banks);
        }
        REQUIRE(seen.size() == banks);
      }
    }
}

TEST_CASE("address hash: xor is the exclusive or of all groups of bits") {
  BankHash const hash(mask_of("xor"), 16, 256);
  for (std::uint64_t const block : {0x0ULL, 0x5ULL, 0x35ULL, 0x1235ULL, 0xfedcba9876ULL}) {
    std::uint64_t expected = 0;
    for (auto left = block; left != 0; left >>= 4) expected ^= left & 15;
    CHECK(bank_of(hash, block, 16) == expected);
  }
}

TEST_CASE("address hash: ipoly is the remainder modulo the irreducible polynomial of 16, 32 and 64 banks") {
  for (auto const& [banks, polynomial] : {std::pair{16U, 19U}, {32U, 37U}, {64U, 67U}}) {
    BankHash const hash(mask_of("ipoly"), banks, 256);
    for (std::uint64_t i = 0; i < 2000; ++i) {
      auto const block = i * 0x9e3779b97f4a7c15ULL >> 16;
      REQUIRE(bank_of(hash, block, banks) == remainder(block, polynomial));
    }
  }
  // Accel-Sim, for 16 banks: bits of the row in bits 0 and 3 of the bank.
  auto const bits = [](std::initializer_list<unsigned> all) {
    std::uint64_t mask = 0;
    for (auto const b : all) mask |= std::uint64_t{1} << b;
    return mask;
  };
  CHECK((mask_of("ipoly")(0, 4) & 0xfff) == bits({0, 3, 4, 6, 8, 9, 10, 11}));
  CHECK((mask_of("ipoly")(3, 4) & 0x7ff) == bits({2, 3, 5, 7, 8, 9, 10}));
}

TEST_CASE("address hash: rows that turns put into one bank are distributed, for any stride of rows") {
  for (std::uint32_t const banks : {8U, 16U, 64U})
    for (std::uint64_t stride = 1; stride <= 4096; stride *= 2) {
      CAPTURE(banks);
      CAPTURE(stride);
      CHECK(most_in_a_bank(nullptr, banks, 256, banks * stride) == 256);
      BankHash const hash(mask_of("ipoly"), banks, 256);
      CHECK(most_in_a_bank(&hash, banks, 256, banks * stride) == 256 / banks);
    }
}

TEST_CASE("address hash: the bank of a block is that of its bytes") {
  for (auto const* name : {"xor", "ipoly"})
    for (std::uint32_t const banks : {1U, 2U, 16U, 40U, 512U}) {
      BankHash const hash(mask_of(name), banks, 256);
      for (std::uint64_t block = 0; block < (1 << 20); block += 977)
        REQUIRE(hash.bank(block) == bank_of(hash, block, banks));
    }
}

TEST_CASE("address hash: with a number of banks that is not a power of two, a row is rotated") {
  BankHash const hash(mask_of("ipoly"), 80, 256);
  for (std::uint64_t row = 0; row < 500; ++row) {
    auto const first = bank_of(hash, row * 80, 80);
    for (std::uint64_t b = 0; b < 80; ++b) REQUIRE(bank_of(hash, row * 80 + b, 80) == (first + b) % 80);
  }
  CHECK(most_in_a_bank(&hash, 80, 8000, 80) <= 200);  // the mean is 100
}

}  // namespace address_hash_test
