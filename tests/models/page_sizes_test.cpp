// SPDX-License-Identifier: Apache-2.0
// Pages of two sizes on a whole machine: load latency with each size, location of the data, and contents of
// tables and TLBs.
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "run_model.hpp"

namespace page_sizes_test {

using namespace farfault;
using test::each;
using test::ModelRun;

namespace {

constexpr std::uint64_t kMiB = 1 << 20;

// One GPU of 1 GHz: two chains, the first over base pages of 4 KiB, the second over pages of 2 MiB.
std::string chases(std::uint64_t stride, std::uint64_t elements, std::uint64_t hops,
                   std::string const& more) {
  return "include = [\"paper-gmmu-bypass\"]\nmachine.topology = \"single-gpu\"\n"
         "memory.large_pages = \"chain1\"\nworkload.name = \"pointer_chase\"\n"
         "workload.pointer_chase.chains = 2\nworkload.pointer_chase.stride = \"" +
         std::to_string(stride) + " B\"\nworkload.pointer_chase.elements = " + std::to_string(elements) +
         "\nworkload.pointer_chase.hops = " + std::to_string(hops) + "\n" + more;
}

// Time of a warm lap through each chain: the difference between two laps and three.
struct Laps {
  Laps(std::uint64_t stride, std::uint64_t elements, std::string const& more)
      : few(chases(stride, elements, 2 * elements, more)),
        many(chases(stride, elements, 3 * elements, more)) {
    few.run();
    many.run();
  }
  std::int64_t picoseconds_of(std::size_t chain) const {
    auto const time = [&](ModelRun const& run) {
      return run.kernel(chain).finished - run.kernel(chain).launched;
    };
    return picoseconds(time(many) - time(few));
  }
  ModelRun few;
  ModelRun many;
};

void check_hops(std::uint64_t stride, std::uint64_t elements, Duration of_base, Duration of_large,
                std::string const& more) {
  Laps const laps(stride, elements, more);
  CHECK(laps.picoseconds_of(0) == picoseconds(of_base) * static_cast<std::int64_t>(elements));
  CHECK(laps.picoseconds_of(1) == picoseconds(of_large) * static_cast<std::int64_t>(elements));
}

struct Stages {
  topologies::MachineConfig c = ModelRun(chases(4096, 2048, 1, "")).config();
  static Duration cycles(std::uint64_t n) { return std::chrono::nanoseconds(n); }
  Duration l2_read() const { return cycles(2 * c.gpu.crossbar_latency + c.l2_cache.latency); }
  Duration l1_tlb() const { return cycles(c.l1_tlb.latency); }
  // Data that arrives at one clock edge is used at the next.
  Duration data() const { return cycles(c.l1_cache.latency) + l2_read() + cycles(1); }
  Duration l2_tlb_hit() const { return l1_tlb() + cycles(2 * c.gpu.translation_latency + c.l2_tlb.latency); }
  Duration walk(std::uint64_t reads) const {
    return l2_tlb_hit() + cycles(2 * c.gpu.translation_latency + c.gmmu.latency) + reads * l2_read();
  }
};

std::string const kPlaced = "memory.placement = \"interleave\"\n";

PageTable const& table_of(ModelRun& run) {
  PageTable const* table = nullptr;
  each<PagingDriver>(run.system(), [&](PagingDriver const& d) { table = &d.state().memory.table(); });
  return *table;
}

// Every TLB entry and every table agrees with the driver's table, and no two pages share a frame.
void check_tables(ModelRun& run) {
  auto const& table = table_of(run);
  std::set<PhysAddr> frames;
  table.each_page([&](std::uint64_t, PageTranslation const& t) {
    for (std::uint64_t i = 0; i < std::uint64_t{1} << t.size; ++i)
      CHECK(frames.insert(t.frame + (i << 12)).second);
  });
  auto const same = [&](std::uint64_t page, PageTranslation const& t) { CHECK(table.find(page) == t); };
  auto const entry = [&](std::uint64_t page, PageTranslation const& t) { same(page, t); };
  auto& system = run.system();
  each<Iommu>(system,
              [&](Iommu const& c) { c.state().table.each_page(same), c.state().tlb->each_entry(entry); });
  each<Gmmu>(system, [&](Gmmu const& c) { c.state().table.each_page(same); });
  each<L2Tlb>(system, [&](L2Tlb const& c) { c.state().tlb->each_entry(entry); });
  each<Sm>(system, [&](Sm const& c) { c.state().load_store.translation.tlb()->each_entry(entry); });
}

std::string transpose(std::string const& more) {
  return "include = [\"paper-gmmu-bypass\"]\nworkload.name = \"transpose\"\nworkload.transpose.width = 1024\n"
         "workload.transpose.height = 1024\ngpu.sms = 4\ngpu.l1_tlb.entries = 4\ngpu.l1_tlb.ways = 4\n"
         "gpu.l2_tlb.entries = 16\ngpu.l2_tlb.ways = 4\n" +
         more;
}

}  // namespace

TEST_CASE(
    "page sizes: in one run, a load over 4 KiB pages and one over 2 MiB pages take the sums of their "
    "stages") {
  Stages const s;
  SUBCASE("walks without a page-walk cache read four entries, and three") {
    check_hops(2 * kMiB + 256, 384, s.walk(4) + s.data(), s.walk(3) + s.data(),
               kPlaced + "gpu.gmmu.walk_cache = 0\n");
  }
  SUBCASE("with cached upper levels, two entries and one") {
    check_hops(2 * kMiB + 256, 384, s.walk(2) + s.data(), s.walk(1) + s.data(),
               kPlaced + "gpu.gmmu.walk_cache = 64\n");
  }
  SUBCASE("one large page stays in the L1 TLB, where its base pages miss both TLBs") {
    check_hops(4096 + 256, 482, s.walk(1) + s.data(), s.l1_tlb() + s.data(),
               kPlaced + "gpu.gmmu.walk_cache = 64\n");
  }
  SUBCASE("pages mapped at their first touch have the same cost afterwards") {
    check_hops(4096 + 256, 482, s.walk(1) + s.data(), s.l1_tlb() + s.data(),
               "memory.placement = \"first_touch\"\ngpu.gmmu.walk_cache = 64\n");
  }
  SUBCASE("the L2 TLB holds pages of both sizes, one entry each") {
    check_hops(2 * kMiB + 256, 128, s.l2_tlb_hit() + s.data(), s.l2_tlb_hit() + s.data(), kPlaced);
  }
}

TEST_CASE(
    "page sizes: in one run, a load over 64 KiB pages and one over 2 MiB pages take the sums of their "
    "stages") {
  Stages const s;
  std::string const base = "memory.page_size = \"64KiB\"\n";
  SUBCASE("walks without a page-walk cache read four entries, and three") {
    check_hops(2 * kMiB + 256, 384, s.walk(4) + s.data(), s.walk(3) + s.data(),
               base + kPlaced + "gpu.gmmu.walk_cache = 0\n");
  }
  SUBCASE("with cached upper levels, two entries and one") {
    check_hops(2 * kMiB + 256, 384, s.walk(2) + s.data(), s.walk(1) + s.data(),
               base + kPlaced + "gpu.gmmu.walk_cache = 64\n");
  }
  SUBCASE("33 pages of 64 KiB stay in an L1 TLB of 64 entries, where 513 of 4 KiB would not") {
    check_hops(4096 + 256, 482, s.l1_tlb() + s.data(), s.l1_tlb() + s.data(),
               base + kPlaced + "gpu.l1_tlb.entries = 64\ngpu.l1_tlb.ways = 64\n");
  }
}

TEST_CASE("page sizes: runs with pages of 64 KiB are the same on any partitions") {
  for (auto const* more : {"memory.placement = \"first_touch\"\n",
                           "memory.placement = \"interleave\"\nmemory.large_pages = \"input\"\n",
                           "memory.placement = \"first_touch\"\nmemory.remote_touch = \"migrate\"\n"}) {
    CAPTURE(more);
    auto const toml = transpose("memory.page_size = \"64KiB\"\n" + std::string(more));
    EngineOptions two;
    two.threads = 2;
    ModelRun one(toml, {}, topologies::Granularity::one);
    ModelRun split(toml, two, topologies::Granularity::split_gpu);
    one.run();
    split.run();
    CHECK(one.engine().state_digest() == split.engine().state_digest());
    CHECK(one.kernel_time() == split.kernel_time());
    CHECK(one.total("host", "kernels") == 1);
    CHECK(table_of(one).mapped_pages() == 8 * kMiB >> 16);
  }
}

TEST_CASE("page sizes: an element of a large page is at its offset in the page's frame") {
  ModelRun run(chases(4096 + 256, 482, 482, kPlaced));
  run.run();
  check_tables(run);
  std::set<PhysAddr> lines;
  each<L2Slice>(run.system(), [&](L2Slice const& slice) {
    slice.each_line([&](PhysAddr line, bool) { lines.insert(line); });
  });
  auto const& table = table_of(run);
  constexpr VirtAddr kFirst = 0x1'0000'0000;
  for (auto const base : {kFirst, kFirst + 4 * kMiB}) {
    auto const first = table.find(base >> 12);
    REQUIRE(first.has_value());
    CHECK(first->size == (base == kFirst ? 0 : 9));
    for (std::uint64_t i = 0; i < 482; ++i) {
      auto const address = base + i * (4096 + 256);
      auto const found = table.find(address >> 12);
      REQUIRE(found.has_value());
      CHECK(lines.count((found->frame + (found->size == 0 ? address & 4095 : address - base)) / 64 * 64) ==
            1);
    }
  }
}

TEST_CASE("page sizes: a transpose of one large buffer does the same work with fewer walks") {
  for (auto const* placement : {"first_touch", "interleave", "contiguous"}) {
    CAPTURE(placement);
    auto const where = "memory.placement = \"" + std::string(placement) + "\"\n";
    ModelRun base(transpose(where));
    ModelRun mixed(transpose(where + "memory.large_pages = \"input\"\n"));
    ModelRun large(transpose(where + "memory.large_pages = \"all\"\n"));
    for (auto* run : {&base, &mixed, &large}) {
      run->run();
      check_tables(*run);
      CHECK(run->total("sm", "transactions") == base.total("sm", "transactions"));
      CHECK(table_of(*run).mapped_pages() == 2048);
    }
    CHECK(table_of(mixed).find(0x1'0000'0000 >> 12)->size == 9);
    CHECK(table_of(mixed).find(0x1'0040'0000 >> 12)->size == 0);
    CHECK(base.total("l2_tlb", "misses") > mixed.total("l2_tlb", "misses"));
    CHECK(mixed.total("l2_tlb", "misses") > large.total("l2_tlb", "misses"));
    if (placement != std::string("first_touch")) continue;
    CHECK(base.total("driver", "pages_mapped") == 2048);
    CHECK(mixed.total("driver", "pages_mapped") == 2 + 1024);
    CHECK(large.total("driver", "pages_mapped") == 4);
  }
}

TEST_CASE("page sizes: the contents of a large page are fetched at its first touch") {
  ModelRun run(
      transpose("memory.placement = \"first_touch\"\nmemory.first_touch_copy = true\n"
                "memory.large_pages = \"all\"\n"));
  run.run();
  check_tables(run);
  CHECK(run.total("copy_engine", "lines_in") == 4 * kMiB / 64);  // for the input
}

TEST_CASE("page sizes: if no buffer holds a large page, a run is the same as without large pages") {
  auto const time = [](std::string const& more) {
    ModelRun run(
        "include = [\"paper-gmmu-bypass\"]\nworkload.name = \"transpose\"\nworkload.transpose.width = 256\n"
        "workload.transpose.height = 128\ngpu.sms = 4\n" +
        more);
    return picoseconds(run.run().kernel_time());
  };
  CHECK(time("") == time("memory.large_pages = \"all\"\n"));
}

TEST_CASE("page sizes: base pages of 2 MiB in large ones of 1 GiB") {
  ModelRun run(
      "include = [\"paper-gmmu-bypass\"]\nmachine.topology = \"single-gpu\"\nmemory.page_size = \"2MiB\"\n"
      "memory.placement = \"interleave\"\n"
      "memory.large_pages = \"all\"\nmemory.large_page_size = \"1GiB\"\nworkload.name = \"pointer_chase\"\n"
      "workload.pointer_chase.stride = \"64MiB\"\nworkload.pointer_chase.elements = 16\n"
      "workload.pointer_chase.hops = 16\ngpu.gmmu.walk_cache = 0\n");
  run.run();
  CHECK(table_of(run).find(0x1'0000'0000 >> 21) == PageTranslation{0, 9});
  CHECK(run.total("gmmu", "page_table_reads") == 2);
  CHECK(run.total("sm", "l1_tlb_misses") == 1);
}

}  // namespace page_sizes_test
