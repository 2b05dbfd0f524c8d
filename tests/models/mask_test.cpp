// SPDX-License-Identifier: Apache-2.0
// MASK (ASPLOS 2018) on a whole GPU that two applications share.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "run_model.hpp"

namespace mask_test {

using namespace farfault;
using test::application_on;
using test::each;
using test::ModelRun;
using test::OneMore;

namespace {

constexpr char const* kAllGiven =
    "gpu.l2_tlb.fill = \"tokens\"\ngpu.l2_tlb.tokens.initial = 1.0\ngpu.l2_tlb.tokens.step = 0.0\n"
    "gpu.l2_tlb.tokens.epoch = 1000\n";
constexpr char const* kNothingBypassed =
    "gpu.l2_cache.walk_reads = \"translation_aware_bypass\"\n"
    "gpu.l2_cache.translation_aware_bypass.sampled = 1\ngpu.l2_cache.translation_aware_bypass.epoch = 1000\n";
constexpr char const* kOneQueue =
    "gpu.dram.scheduler = \"address_space_aware\"\ngpu.dram.address_space_aware.queues = 1\n"
    "gpu.dram.address_space_aware.normal = 256\ngpu.dram.address_space_aware.epoch = 1000\n";
constexpr char const* kTokens =
    "gpu.l2_tlb.fill = \"tokens\"\ngpu.l2_tlb.tokens.initial = 0.3\ngpu.l2_tlb.tokens.epoch = 1000\n";
constexpr char const* kBypass =
    "gpu.l2_cache.walk_reads = \"bypass_from_depth\"\ngpu.l2_cache.bypass_from_depth.depth = 1\n";
constexpr char const* kThreeQueues =
    "gpu.dram.scheduler = \"address_space_aware\"\ngpu.dram.address_space_aware.epoch = 1000\n"
    "gpu.dram.address_space_aware.thresh_max = 50\n";

// Transpose on three SMs and vector addition on two others.
struct Shared : ModelRun {
  explicit Shared(std::string const& more, std::string const& l2_tlb = "gpu.l2_tlb.entries = 32\n")
      : ModelRun(
            "include = [\"paper-mosaic\"]\ngpu.sms = 5\nmemory.page_sizes = \"by_buffer\"\n"
            "memory.frame_allocation = \"on_demand\"\nmemory.compaction = \"none\"\n"
            "gpu.l1_tlb.organization = \"plain\"\ngpu.l1_tlb.entries = 8\ngpu.l1_tlb.ways = 8\n"
            "gpu.l2_tlb.organization = \"plain\"\ngpu.l2_tlb.ways = 4\n"
            "gpu.l2_cache.slices = 4\ngpu.l2_cache.size = \"64KiB\"\ngpu.dram.channels = 2\n"
            "gpu.dram.queue = 256\nworkload.name = \"transpose\"\nworkload.transpose.width = 512\n"
            "workload.transpose.height = 512\n" +
                l2_tlb + more,
            application_on("transpose", 0, {0, 1, 2}),
            {OneMore{"vectoradd", "elements = 300000", application_on("vectoradd", 1, {3, 4})}}) {
    run();
  }
  std::vector<std::pair<Time, Time>> times() const { return {{kernel(0).finished, kernel(1).finished}}; }
};

// Two relaunched applications of several kernels on MASK's machine with six SMs.
struct Mix {
  std::string first;
  std::string settings;  // of the first workload and of everything else
  std::string second;
  std::string parameters = {};
};
struct OnPreset : ModelRun {
  OnPreset(Mix const& mix, std::string const& more)
      : ModelRun(
            "include = [\"paper-mask\"]\ngpu.sms = 6\n"
            "gpu.l2_cache.size = \"256KiB\"\nworkload.name = \"" +
                mix.first + "\"\n" + mix.settings + more,
            relaunched(mix.first, 0, {0, 1, 2}),
            {OneMore{mix.second, mix.parameters, relaunched(mix.second, 1, {3, 4, 5})}}) {
    run();
  }
  // Launch and end of every kernel.
  std::vector<std::pair<Time, Time>> times() {
    std::vector<std::pair<Time, Time>> all;
    for (auto const& record : assembly().host(0).state().records)
      all.emplace_back(record.launched, record.finished);
    return all;
  }

 private:
  static Application relaunched(std::string name, std::uint32_t space, std::vector<std::uint32_t> sms) {
    auto a = application_on(std::move(name), space, std::move(sms));
    a.relaunch = true;
    return a;
  }
};

}  // namespace

TEST_CASE("MASK: with all tokens, no bypass and one queue, both applications take the baseline's times") {
  auto const baseline = Shared("").times();
  for (std::string const& one :
       {std::string(kAllGiven), std::string(kNothingBypassed), std::string(kOneQueue),
        std::string(kAllGiven) + kNothingBypassed + kOneQueue}) {
    CAPTURE(one);
    CHECK(Shared(one).times() == baseline);
  }
}

TEST_CASE(
    "MASK: mixes of other workloads do as well on its machine, with a page-walk cache, large pages and "
    "Mosaic") {
  std::string const plain =
      "gpu.l2_tlb.fill = \"always\"\ngpu.l2_cache.walk_reads = \"cached\"\ngpu.dram.queue = 256\n"
      "gpu.dram.walk_queue = 0\ngpu.dram.scheduler = \"frfcfs\"\n";
  std::string const none = std::string(kAllGiven) + kNothingBypassed + kOneQueue +
                           "gpu.dram.queue = 256\ngpu.dram.walk_queue = 0\n";
  for (auto const& mix : {
           Mix{"gups", "workload.gups.updates = 2\n", "backprop", "inputs = 4096"},
           Mix{"nw", "workload.nw.length = 256\n", "scalar_product", "vectors = 32"},
           Mix{"bfs_rodinia", "workload.bfs_rodinia.rmat.scale = 11\n", "histogram256", "words = 100000"},
           Mix{"sgemm_parboil",
               "workload.sgemm_parboil.m = 256\nworkload.sgemm_parboil.n = 256\n"
               "workload.sgemm_parboil.k = 64\nmemory.page_size = \"2MiB\"\n",
               "gups", "updates = 1"},
           Mix{"backprop",
               "workload.backprop.inputs = 4096\ngpu.l2_tlb.entries = 0\ngpu.l2_tlb.latency = 1\n"
               "gpu.page_walk_cache.size = \"8KiB\"\n",
               "gups", "updates = 2"},
           Mix{"gups",
               "workload.gups.updates = 2\nmemory.page_sizes = \"in_place_coalescer\"\n"
               "memory.frame_allocation = \"contiguity_conserving\"\nmemory.placement = \"first_touch\"\n",
               "scalar_product", "vectors = 32"},
       }) {
    CAPTURE(mix.first);
    CAPTURE(mix.settings);
    OnPreset baseline(mix, plain);
    OnPreset mask(mix, none);
    CHECK(baseline.times().size() > 2);
    CHECK(mask.times() == baseline.times());
    CHECK(mask.total("gpu.l2_cache.walk_reads", "fourth_reads") +
              mask.total("gpu.l2_cache.walk_reads", "third_reads") >
          0);
    CHECK(OnPreset(mix, "gpu.l2_tlb.tokens.epoch = 1000\n").times() != baseline.times());
  }
}

TEST_CASE("MASK: each mechanism has its effect and changes the times") {
  auto const baseline = Shared("").times();
  Shared tokens(kTokens);
  CHECK(tokens.times() != baseline);
  CHECK(tokens.total("gpu.l2_tlb.fill", "bypass_fills") > 100);
  CHECK(tokens.total("gpu.l2_tlb.fill", "bypass_hits") > 0);
  Shared bypass(kBypass);
  CHECK(bypass.times() != baseline);
  CHECK(bypass.total("gpu.l2_cache.walk_reads", "bypassed_reads") ==
        bypass.total("gmmu", "page_table_reads"));
  CHECK(bypass.total("l2_slice", "walk_hits") == 0);
  CHECK(bypass.total("dram", "walk_reads") > 1000);
  Shared queues(kThreeQueues);
  CHECK(queues.times() != baseline);
  CHECK(queues.total("gpu.dram.scheduler", "golden_lines") == queues.total("dram", "walk_reads"));
  CHECK(queues.total("gpu.dram.scheduler", "silver_lines") > 100);
  CHECK(queues.total("gpu.dram.scheduler", "normal_lines") > 100);
}

TEST_CASE("MASK: each other interpretation of its preset changes the times") {
  std::string const small =
      "gpu.l2_tlb.tokens.epoch = 1000\ngpu.l2_cache.translation_aware_bypass.epoch = 1000\n"
      "gpu.dram.address_space_aware.epoch = 1000\ngpu.l2_cache.mshrs = 4\n"
      "gpu.dram.address_space_aware.silver = 2\ngpu.dram.queue = 32\n";
  Mix const mix{"gups", "workload.gups.updates = 2\n", "backprop", "inputs = 4096"};
  auto const preset = OnPreset(mix, small).times();
  for (std::string const reading : {
           "gpu.l2_cache.translation_aware_bypass.overtakes = false\n",
           "gpu.l2_cache.translation_aware_bypass.own_mshrs = 0\n",
           "gpu.l2_cache.translation_aware_bypass.unmeasured = \"kept\"\n",
           "gpu.l2_cache.translation_aware_bypass.data_rate = \"loads\"\n",
           "gpu.l2_cache.ports = 1\n",
           "gpu.l2_tlb.ports = 1\n",
           "gpu.l2_tlb.tokens.direction = \"hill_climbing\"\n",
           "gpu.l2_tlb.tokens.warps = \"start\"\n",
           "gpu.dram.walk_queue = 0\n",
           "gpu.dram.address_space_aware.overflow = \"normal\"\n",
       }) {
    CAPTURE(reading);
    CHECK(OnPreset(mix, small + reading).times() != preset);
  }
}

TEST_CASE("MASK: the channels are notified of each application's walk pressure") {
  Shared run(kThreeQueues);
  std::uint64_t channels = 0;
  each<DramChannel>(run.system(),
                    [&](DramChannel const& d) { channels += d.spec().receives_pressure ? 1 : 0; });
  CHECK(channels == 2);
  each<Sm>(run.system(), [&](Sm const& sm) { CHECK(sm.spec().reports_stalled_warps); });
  each<L2Tlb>(run.system(), [&](L2Tlb const& tlb) {
    CHECK(tlb.spec().pressure_epoch == 1000);
    CHECK(tlb.state().pressure_epoch > 3);
    CHECK(tlb.state().mshrs.in_use() == 0);
  });
}

TEST_CASE(
    "MASK: without an L2 TLB, every L1 TLB miss is an L2 TLB miss, and a page-walk cache serves its walks") {
  auto const none = "gpu.l2_tlb.entries = 0\ngpu.l2_tlb.latency = 1\n";
  Shared without("", none);
  CHECK(without.total("l2_tlb", "hits") == 0);
  Shared cached("gpu.page_walk_cache.size = \"8KiB\"\n", none);
  CHECK(cached.total("l2_tlb", "hits") == 0);
  CHECK(cached.total("page_walk_cache", "reads") == cached.total("gmmu", "page_table_reads"));
  CHECK(cached.total("page_walk_cache", "hits") > cached.total("page_walk_cache", "misses"));
  CHECK(cached.total("l2_slice", "walk_reads") < cached.total("gmmu", "page_table_reads") / 2);
  CHECK(without.total("l2_slice", "walk_reads") == without.total("gmmu", "page_table_reads"));
  // Each read takes the look-up latency: 400 cycles of 980 ps.
  Shared slow("gpu.page_walk_cache.size = \"8KiB\"\ngpu.page_walk_cache.latency = 400\n", none);
  CHECK(slow.total("gmmu", "total_latency") > 400 * 980 * slow.total("gmmu", "page_table_reads"));
  CHECK(cached.total("gmmu", "total_latency") < 400 * 980 * cached.total("gmmu", "page_table_reads"));
}

}  // namespace mask_test
