// SPDX-License-Identifier: Apache-2.0
// Sizes of packets and of a link's buffers.
#include "farfault/fabric/link_format.hpp"

#include <doctest/doctest.h>

namespace link_format_test {

using namespace farfault;

TEST_CASE("link format: a header and the payload in whole units") {
  PacketFormat const pcie{24, 1};
  CHECK(pcie.bytes(0) == 24);
  CHECK(pcie.bytes(5) == 29);
  PacketFormat const nvlink{16, 16};
  CHECK(nvlink.bytes(0) == 16);
  CHECK(nvlink.bytes(8) == 32);
  CHECK(nvlink.bytes(64) == 80);
  CHECK(nvlink.bytes(65) == 96);
}

TEST_CASE(
    "link buffer: twice the bandwidth-delay product of the round trip, with a whole packet at either end of "
    "the hop") {
  // 25 GB/s x 200 ns = 5,000 bytes.
  CHECK(covering_buffer(Bandwidth{25'000'000'000}, 100ns, 144) == 2 * (5000 + 2 * 144));
  CHECK(covering_buffer(Bandwidth{1'000'000}, 1ns, 88) == 4 * 88);
  CHECK(covering_buffer(Bandwidth{1'000'000'000'000'000'000}, 1s, 88) == kLargestBuffer);
}

TEST_CASE(
    "credit batch: credits withheld by all sharers are at most half the buffer and leave a largest packet") {
  CHECK(credit_batch(8000, 88, 1) == 1000);
  CHECK(credit_batch(8000, 88, 2) == 1000);
  CHECK(credit_batch(8000, 88, 20) == 200);
  CHECK(credit_batch(88, 88, 3) == 1);  // room for one packet: each credit immediately
  for (std::uint32_t const sharing : {1U, 2U, 3U, 64U, 1000U}) {
    for (std::uint64_t const buffer : {88U, 89U, 100U, 176U, 1000U, 100'000U}) {
      auto const held_back = std::uint64_t{sharing} * (credit_batch(buffer, 88, sharing) - 1);
      CHECK(2 * held_back <= buffer);
      CHECK(buffer - held_back >= 88);
    }
  }
}

}  // namespace link_format_test
