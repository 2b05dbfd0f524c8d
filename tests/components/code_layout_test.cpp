// SPDX-License-Identifier: Apache-2.0
#include "farfault/compute/code_layout.hpp"

#include <doctest/doctest.h>

#include "farfault/engine/error.hpp"
#include "hand_kernel.hpp"

namespace code_layout_test {

using namespace farfault;
using namespace farfault::mock;

namespace {

constexpr std::uint64_t kMiB = 1 << 20;

Workload workload(std::vector<std::uint32_t> const& code_bytes, std::vector<Buffer> buffers) {
  std::vector<std::unique_ptr<Kernel const>> kernels;
  for (auto const bytes : code_bytes)
    kernels.push_back(std::make_unique<HandKernel>(KernelShape{.name = "k", .code_bytes = bytes},
                                                   [](std::uint64_t, std::uint32_t) { return Program{}; }));
  return {"w", std::move(buffers), std::move(kernels)};
}

}  // namespace

TEST_CASE(
    "code layout: kernels follow the last buffer, each at a multiple of 256 bytes, with a copy per GPU") {
  auto const w = workload({1000, 0, 256}, {{"a", 8 * kMiB, 100}, {"b", kMiB, 100}});
  Applications const all(w);
  CodeLayout const layout(all, 2, {.kernel = ByteSize{512}}, 2 * kMiB);
  CHECK(layout.of(0, 0).first == 10 * kMiB);
  CHECK(layout.of(0, 0).bytes == 1000);
  CHECK(layout.of(1, 0).first == 10 * kMiB + 1024);
  CHECK(layout.of(1, 0).bytes == 512);
  CHECK(layout.of(0, 0).repeats == 0);
  CHECK(layout.of(1, 0).repeats == 1);
  CHECK(layout.of(2, 0).first == 10 * kMiB + 1536);
  CHECK(layout.of(2, 1).first == 12 * kMiB + 1536);
  REQUIRE(layout.copies_for(1).size() == 1);
  CHECK(layout.copies_for(1)[0].first == 12 * kMiB);
  CHECK(layout.copies_for(1)[0].bytes == 1792);
  CHECK(layout.pages(12) == 1);
}

TEST_CASE("code layout: each address space has its own copies; applications of one space share them") {
  auto const w = workload({4096}, {{"a", 0, 100}});
  auto const wide = workload({6 * kMiB}, {{"a", 4 * kMiB, 100}});
  Applications const all({{.name = "x", .workload = &w, .space = 0},
                          {.name = "y", .workload = &wide, .space = 2},
                          {.name = "z", .workload = &w, .space = 0}});
  CodeLayout const layout(all, 2, {.kernel = ByteSize{512}}, 2 * kMiB);
  CHECK(layout.of(0, 0).first == 2 * kMiB);
  CHECK(layout.of(2, 0).first == 2 * kMiB + 4096);
  CHECK(layout.of(1, 0).first == first_address_of(2) + 6 * kMiB);
  CHECK(layout.of(1, 1).first == first_address_of(2) + 12 * kMiB);
  CHECK(layout.of(0, 1).first == 8 * kMiB);
  REQUIRE(layout.copies_for(1).size() == 2);
  CHECK(layout.copies_for(1)[0].first == 8 * kMiB);
  CHECK(layout.copies_for(1)[1].first == first_address_of(2) + 12 * kMiB);
  CHECK(layout.pages(12) == 2 + 1536);
}

TEST_CASE("code layout: code beyond the 48-bit address space is a user's error") {
  auto const w = workload({512}, {{"a", first_address_of(1) - 4 * kMiB, 100}});
  Applications const all(w);
  CHECK(CodeLayout(all, 1, {.kernel = ByteSize{512}}, 2 * kMiB).of(0, 0).first ==
        first_address_of(1) - 2 * kMiB);
  CHECK_THROWS_WITH_AS(
      CodeLayout(all, 2, {.kernel = ByteSize{512}}, 2 * kMiB),
      "gpu.instruction_cache.size above 0: the code of 1 kernels for 2 GPUs follows the last "
      "buffer, but ends beyond the 48-bit address space",
      UserError);
}

TEST_CASE("code layout: copies begin at multiples of the largest page") {
  auto const w = workload({512}, {{"a", 0, 100}});
  Applications const all(w);
  CodeLayout const layout(all, 2, {}, 64 * kMiB);
  CHECK(layout.of(0, 0).first == 64 * kMiB);
  CHECK(layout.of(0, 1).first == 128 * kMiB);
}

TEST_CASE("code layout: a kernel whose code exceeds 4 GiB is a user's error") {
  auto const w = workload({~0U}, {{"a", 0, 100}});
  Applications const all(w);
  CHECK_THROWS_WITH_AS(
      CodeLayout(all, 1, {}, 2 * kMiB),
      "gpu.instruction_cache.size above 0: the instructions of kernel 'k' are more than 4 GiB apart",
      UserError);
}

}  // namespace code_layout_test
