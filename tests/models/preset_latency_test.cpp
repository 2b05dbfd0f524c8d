// SPDX-License-Identifier: Apache-2.0
// Presets of real GPUs. A dependent load takes exactly the sum of the configured stages. At the clock of the
// measurement, that sum is the published load-to-use latency, exact to the cycle. Without refresh, which
// delays some loads, and without a hash, so that the slice of a line is known.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>

#include "run_model.hpp"

namespace preset_latency_test {

using namespace farfault;
using test::ModelRun;

namespace {

// Medians of MT4G's sample results, in cycles of the GPU's highest clock. The L1 value of A100 is its
// preset's.
struct Published {
  char const* preset;
  std::uint64_t mhz;
  std::int64_t l1;
  std::int64_t l2;
  std::int64_t memory;
};
constexpr std::array<Published, 6> kPublished{{{"gpu-v100", 1380, 30, 219, 395},
                                               {"gpu-a100", 1410, 35, 169, 671},
                                               {"gpu-h100", 1980, 38, 222, 864},
                                               {"gpu-mi100", 1502, 136, 336, 664},
                                               {"gpu-mi210", 1700, 124, 292, 684},
                                               {"gpu-mi300x", 2100, 116, 288, 876}}};

constexpr std::uint64_t kPage = 2 * 1024 * 1024;

// Time of one warm hop of a chase through `elements` elements with `stride` bytes between them: the
// difference between two runs, which cancels everything before and after.
class Chase {
 public:
  Chase(Published const& gpu, std::string more) : gpu_(gpu), more_(std::move(more)) {}

  std::int64_t cycles_a_hop(std::uint64_t stride, std::uint64_t elements) const {
    auto const many = picoseconds(time_of(stride, elements, 3 * elements));
    auto const few = picoseconds(time_of(stride, elements, 2 * elements));
    auto const cycle = static_cast<double>(elements) * 1e6 / static_cast<double>(gpu_.mhz);
    auto const cycles = static_cast<double>(many - few) / cycle;
    auto const whole = static_cast<std::int64_t>(cycles + 0.5);
    CHECK(cycles == doctest::Approx(static_cast<double>(whole)).epsilon(1e-5));
    return whole;
  }

 private:
  Duration time_of(std::uint64_t stride, std::uint64_t elements, std::uint64_t hops) const {
    return ModelRun("include = [\"" + std::string(gpu_.preset) + "\"]\nworkload.name = \"pointer_chase\"\n" +
                    "gpu.dram.t_refi = \"0ns\"\ngpu.l2_cache.hash = \"turns\"\ngpu.clock = \"" +
                    std::to_string(gpu_.mhz) + "MHz\"\n" + more_ + "workload.pointer_chase.stride = \"" +
                    std::to_string(stride) + " B\"\n" +
                    "workload.pointer_chase.elements = " + std::to_string(elements) +
                    "\nworkload.pointer_chase.hops = " + std::to_string(hops) + "\n")
        .run()
        .kernel_time();
  }

  Published const& gpu_;
  std::string more_;
};

struct Stages {
  explicit Stages(Published const& gpu)
      : c(ModelRun("include = [\"" + std::string(gpu.preset) + "\"]\nworkload.name = \"pointer_chase\"\n")
              .config()),
        cycle_ps(1e6 / static_cast<double>(gpu.mhz)) {}
  std::int64_t l1() const { return c.l1_tlb.latency + c.l1_cache.latency; }
  std::int64_t slice() const { return 2 * c.gpu.crossbar_latency + c.l2_cache.latency; }
  // None of these clocks has a period of whole picoseconds: rounded stages end within the last cycle, and
  // their result is used at the edge that ends it.
  std::int64_t l2() const { return l1() + slice(); }
  // In a slice's channel with another row open: one cycle each way, and the same to a cache in front of it.
  double channel() const {
    auto const& d = c.dram;
    auto const ps = d.t_rp + d.t_rcd + d.t_cl + d.bandwidth.time_for(c.gpu.line_bytes) + d.controller_latency;
    auto const cache = c.memory_cache.present() ? c.memory_cache.latency + 2 : 0;
    return 2 + cache + static_cast<double>(picoseconds(ps)) / cycle_ps;
  }
  // Half of the lines have their home in the far one of two partitions.
  std::int64_t far() const {
    return c.l2_cache.hardware_coherent() ? 2 * c.l2_cache.partition_latency + c.l2_cache.latency : 0;
  }
  std::int64_t memory() const {
    return l1() + slice() + static_cast<std::int64_t>(channel()) + 1 + far() / 2;
  }
  // A hit in the first level of TLBs; misses in all further levels.
  std::int64_t l1_tlb_miss() const { return through(0); }
  std::int64_t l2_tlb_miss() const {
    std::int64_t sum = 2 * c.gpu.translation_latency + c.gmmu.latency;
    for (std::size_t l = 1; l < c.tlb_levels().size(); ++l) sum += through(l);
    return sum;
  }
  std::int64_t through(std::size_t level) const {
    auto const tlb = c.tlb_levels()[level];
    return 2 * tlb.request_latency + tlb.latency;
  }
  // Keys that leave each TLB of all levels with one entry.
  std::string smallest_tlbs() const {
    std::string keys;
    for (auto const& level : c.tlb_levels()) {
      auto const section = c.translation.listed().empty() ? "gpu.l2_tlb" : level.section();
      keys += section + ".entries = 1\n" + section + ".ways = 1\n";
    }
    return keys;
  }

  topologies::MachineConfig c;
  double cycle_ps;
};

}  // namespace

TEST_CASE("the presets of GPUs have the published load-to-use latencies, to the cycle") {
  for (auto const& gpu : kPublished) {
    CAPTURE(gpu.preset);
    Stages const s(gpu);
    CHECK(s.l1() == gpu.l1);
    CHECK(s.l2() == gpu.l2);
    CHECK(s.memory() == gpu.memory);
  }
}

TEST_CASE(
    "a miss in both TLBs of V100 that reads its entry from memory takes 654 cycles more, as in Jia et al.") {
  Stages const s(kPublished[0]);
  auto const entry = static_cast<double>(s.slice()) + s.channel();
  CHECK(static_cast<double>(s.l1_tlb_miss() + s.l2_tlb_miss()) + entry ==
        doctest::Approx(1029 - 375).epsilon(1e-3));
}

TEST_CASE("a pointer chase on the presets of GPUs takes the configured stages") {
  for (auto const& gpu : kPublished) {
    CAPTURE(gpu.preset);
    Stages const s(gpu);
    auto const line = s.c.gpu.line_bytes;
    Chase const chase(gpu, "");
    CHECK(chase.cycles_a_hop(line, 64) == s.l1());
    CHECK(chase.cycles_a_hop(line, 2 * s.c.l1_cache.size.bytes / line) == s.l2());
    // Each load has its own page, and a line of the L1 cache that no other load uses.
    CHECK(chase.cycles_a_hop(kPage + line, 2 * s.c.l1_tlb.entries) == s.l1() + s.l1_tlb_miss());
    Chase const small_tlb(gpu, s.smallest_tlbs());
    CHECK(small_tlb.cycles_a_hop(kPage + line, 128) ==
          s.l1() + s.l1_tlb_miss() + s.l2_tlb_miss() + s.slice());
    // L2 slices of one set. Each line is in its own row of the channel's only bank, and every other line has
    // its home in the far partition.
    auto const& l2 = s.c.l2_cache;
    std::string few_lines =
        "gpu.l1_tlb.entries = 1024\ngpu.l1_tlb.ways = 1024\ngpu.dram.banks = 1\ngpu.l2_cache.size = \"" +
        std::to_string(std::uint64_t{l2.slices} * l2.ways * line) + " B\"\n";
    if (s.c.memory_cache.present())
      few_lines += "gpu.memory_cache.size = \"" +
                   std::to_string(std::uint64_t{s.c.gpu_memory().channels} * s.c.memory_cache.ways * line) +
                   " B\"\n";
    // At least eight pages, in whole rounds of slices and channels.
    auto const round = std::max(l2.slices, s.c.gpu_memory().channels) * l2.interleave.bytes;
    auto const half = l2.hardware_coherent() ? l2.slices / 2 * l2.interleave.bytes : 0;
    CHECK(Chase(gpu, few_lines).cycles_a_hop((8 * kPage + round - 1) / round * round + half, 512) ==
          s.memory());
  }
}

TEST_CASE(
    "MASK's presets: hits in the L2 cache and the L2 TLB take the total latency of the paper, or of its "
    "published code") {
  struct OfMask {
    Published gpu;
    std::int64_t slice;
    std::int64_t l2_tlb;
    std::uint32_t walk_cache;
    std::uint32_t l2_tlb_mshrs;
    std::int64_t channel;  // MB/s
  };
  for (auto const& of : {OfMask{{"paper-mask", 1020, 0, 0, 0}, 10, 10, 10, 64, 1674 * 4 * 4},
                         OfMask{{"paper-mask-fermi", 1400, 0, 0, 0}, 10, 10, 10, 64, 924 * 4 * 8},
                         OfMask{{"paper-mask-integrated", 1000, 0, 0, 0}, 130, 130, 10, 64, 800 * 2 * 8},
                         OfMask{{"published-mask", 700, 0, 0, 0}, 110, 9, 12, 4096, 924 * 4 * 4}}) {
    CAPTURE(std::string(of.gpu.preset));
    Stages const s(of.gpu);
    CHECK(s.slice() == of.slice);
    CHECK(s.l1_tlb_miss() == of.l2_tlb);
    CHECK(s.c.page_walk_cache.latency + 2 == of.walk_cache);
    CHECK(s.c.l2_tlb.mshrs == of.l2_tlb_mshrs);
    CHECK(s.c.l1_tlb.outstanding() == 1);
    CHECK(s.c.dram.bandwidth.bytes_per_second == of.channel * 1'000'000);
  }
  Published const gpu{"paper-mask", 1020, 0, 0, 0};
  Stages const s(gpu);
  Chase const chase(gpu, "");
  auto const line = s.c.gpu.line_bytes;
  CHECK(chase.cycles_a_hop(line, 64) == 2);
  CHECK(chase.cycles_a_hop(line, 2 * s.c.l1_cache.size.bytes / line) == 2 + 10);
  CHECK(chase.cycles_a_hop(4096 + line, 2 * s.c.l1_tlb.entries) == 2 + 10);
}

TEST_CASE(
    "the preset of TLB compression has the cycles of the paper's Table 3: 1 and 10 of TLBs, 500 of a walk") {
  Published const gpu{"paper-tlb-compression", 1400, 0, 0, 0};
  Stages const s(gpu);
  CHECK(s.c.gpu.clock.hertz == 1'400'000'000);
  CHECK(s.c.gpu.sms == 16);
  CHECK(s.c.gmmu.walkers == 8);
  CHECK(s.c.l1_tlb.latency == 1);
  CHECK(s.c.l2_tlb.latency == 10);
  Chase const chase(gpu, "gpu.l2_tlb.organization = \"plain\"\n");
  auto const line = s.c.gpu.line_bytes;
  CHECK(chase.cycles_a_hop(4096 + line, 32) == s.l1());
  CHECK(chase.cycles_a_hop(4096 + line, 2 * 32) == s.l1() + s.l1_tlb_miss());
  CHECK(chase.cycles_a_hop(4096 + line, 2 * 512) ==
        s.l1() + s.l1_tlb_miss() + s.l2_tlb_miss() + 500 + s.slice());
}

}  // namespace preset_latency_test
