// SPDX-License-Identifier: Apache-2.0
// Latency stages in a response: packing, and the remainder for merged requests.
#include "farfault/protocols/stages.hpp"

#include <doctest/doctest.h>

namespace stages_test {

using namespace farfault;
using namespace std::chrono_literals;

TEST_CASE("stages: a packed duration is exact below 2,048 ps and has an error below a thousandth above") {
  for (std::uint32_t ps = 0; ps < 2048; ++ps) CHECK(unpack_duration(pack_duration(ps)) == ps);
  for (std::uint64_t ps = 2048; ps <= 0xffff'ffffULL; ps = ps * 9 / 8 + 1) {
    auto const it = static_cast<std::uint32_t>(ps);
    auto const back = unpack_duration(pack_duration(it));
    CHECK(back <= it);
    CHECK(it - back <= it / 1024);
  }
  CHECK(unpack_duration(pack_duration(0xffff'ffffU)) >= 0xffff'ffffU - 0xffff'ffffU / 1024);
}

TEST_CASE("stages: a duration beyond the maximum counts as the maximum, a negative one as zero") {
  CHECK(stage_time(Duration{5}) == 5);
  CHECK(stage_time(Duration{-5}) == 0);
  CHECK(stage_time(5s) == 0xffff'ffffU);
}

TEST_CASE("stages: a shorter wait has the last part of a memory access: its device, DRAM, its queue") {
  MemoryStages const all{30, 20, 10};
  CHECK(all.last_of(Duration{100}) == all);
  CHECK(all.last_of(Duration{60}) == all);
  CHECK(all.last_of(Duration{45}) == MemoryStages{15, 20, 10});
  CHECK(all.last_of(Duration{25}) == MemoryStages{0, 15, 10});
  CHECK(all.last_of(Duration{4}) == MemoryStages{0, 0, 4});
  CHECK(all.last_of(Duration{-1}) == MemoryStages{});
  CHECK(all.sum() == Duration{60});
}

TEST_CASE("stages: a shorter wait has the last part of a translation: IOMMU, link, walk, its queue") {
  TranslationStages const all{40, 30, 20, 10};
  CHECK(all.last_of(Duration{1000}) == all);
  CHECK(all.last_of(Duration{95}) == TranslationStages{35, 30, 20, 10});
  CHECK(all.last_of(Duration{50}) == TranslationStages{0, 20, 20, 10});
  CHECK(all.last_of(Duration{15}) == TranslationStages{0, 0, 5, 10});
  CHECK(all.last_of(Duration::zero()) == TranslationStages{});
  CHECK(all.sum() == Duration{100});
}

}  // namespace stages_test
