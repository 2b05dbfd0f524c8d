// SPDX-License-Identifier: Apache-2.0
// Effect of each TLB organization on translation, on a whole machine.
#include <doctest/doctest.h>

#include <string>

#include "run_model.hpp"

namespace tlb_organizations_test {

using namespace farfault;
using namespace std::chrono_literals;
using test::ModelRun;

namespace {

// Two GPUs with data on both and on the CPU, and TLBs that are too small for it.
std::string transpose(std::string const& more) {
  return "machine.topology = \"two-gpu\"\ngpu.sms = 2\nworkload.name = \"transpose\"\n"
         "workload.transpose.width = 256\nworkload.transpose.height = 128\nmemory.page_size = \"4KiB\"\n"
         "gpu.l1_tlb.entries = 4\ngpu.l1_tlb.ways = 4\ngpu.l2_tlb.entries = 8\ngpu.l2_tlb.ways = 4\n"
         "gpu.router.policy = \"centralized\"\niommu.tlb_entries = 8\niommu.tlb_ways = 8\n" +
         more;
}

// One GPU with a chain of loads that visits 32 pages of 2 MiB twice.
std::string large_pages(std::string const& more) {
  return "machine.topology = \"single-gpu\"\nmemory.large_pages = \"chain\"\n"
         "workload.name = \"pointer_chase\"\nworkload.pointer_chase.stride = \"2097152 B\"\n"
         "workload.pointer_chase.elements = 32\nworkload.pointer_chase.hops = 64\n"
         "gpu.l1_tlb.entries = 4\ngpu.l1_tlb.ways = 4\n" +
         more;
}

// Misses of an L2 TLB of 16 sets of four ways, for a chain of loads that visits 96 pages twice.
std::uint64_t l2_misses_of_chain(std::string const& more) {
  ModelRun run(
      "machine.topology = \"single-gpu\"\nmemory.page_size = \"4KiB\"\nworkload.name = \"pointer_chase\"\n"
      "workload.pointer_chase.stride = \"4096 B\"\nworkload.pointer_chase.elements = 96\n"
      "workload.pointer_chase.hops = 192\ngpu.l1_tlb.entries = 4\ngpu.l1_tlb.ways = 4\n"
      "gpu.l2_tlb.entries = 64\ngpu.l2_tlb.ways = 4\n" +
      more);
  return run.run().total("l2_tlb", "misses");
}

}  // namespace

TEST_CASE("an ideal L1 TLB has no misses on pages mapped at time zero") {
  ModelRun plain(transpose(""));
  ModelRun ideal(transpose("gpu.l1_tlb.organization = \"ideal\"\n"));
  CHECK(plain.run().total("sm", "l1_tlb_misses") > 0);
  CHECK(ideal.run().total("sm", "l1_tlb_misses") == 0);
  CHECK(ideal.total("sm", "l1_tlb_hits") ==
        plain.total("sm", "l1_tlb_hits") + plain.total("sm", "l1_tlb_misses"));
  CHECK(ideal.total("l2_tlb", "hits") + ideal.total("l2_tlb", "misses") == 0);
  CHECK(ideal.kernel_time() < plain.kernel_time());
}

TEST_CASE("an ideal L2 TLB or IOMMU TLB has no misses on pages mapped at time zero") {
  ModelRun plain(transpose(""));
  ModelRun l2(transpose("gpu.l2_tlb.organization = \"ideal\"\n"));
  ModelRun iommu(transpose("iommu.tlb_organization = \"ideal\"\n"));
  CHECK(plain.run().total("l2_tlb", "misses") > 0);
  CHECK(plain.total("iommu", "tlb_misses") > 0);
  CHECK(l2.run().total("l2_tlb", "misses") == 0);
  CHECK(l2.total("l2_tlb", "hits") > 0);
  CHECK(iommu.run().total("iommu", "tlb_misses") == 0);
  CHECK(iommu.total("iommu", "tlb_hits") > 0);
}

TEST_CASE("a scalar cache's ideal TLB has no misses on pages mapped at time zero") {
  auto const misses = [](std::string const& organization) {
    ModelRun run(
        "machine.topology = \"single-gpu\"\ngpu.sms = 2\nworkload.name = \"fir\"\n"
        "workload.fir.size = \"64KiB\"\ngpu.scalar_cache.tlb_organization = \"" +
        organization + "\"\n");
    run.run();
    CHECK(run.total("scalar_cache", "tlb_hits") > 0);
    return run.total("scalar_cache", "tlb_misses");
  };
  CHECK(misses("plain") > 0);
  CHECK(misses("ideal") == 0);
}

TEST_CASE("a TLB of the IOMMU holds large pages and hits them") {
  for (std::string const organization : {"plain", "by_page_size", "compressed", "range"}) {
    CAPTURE(organization);
    ModelRun run(large_pages(
        "gpu.l2_tlb.entries = 0\ngpu.router.policy = \"centralized\"\n"
        "iommu.tlb_entries = 128\niommu.tlb_ways = 128\niommu.tlb_organization = \"" +
        organization + "\"\niommu.tlb_" +
        (organization == "range" ? "range.fetched_pages = 0\n" : "by_page_size.large_entries = 32\n")));
    CHECK(run.run().total("iommu", "tlb_misses") == 32);
    CHECK(run.total("iommu", "tlb_hits") == 32);
  }
}

TEST_CASE("range TLBs at every level use the size of base pages") {
  for (std::string const place : {"gpu.l1_tlb.", "gpu.l2_tlb.", "iommu.tlb_"}) {
    CAPTURE(place);
    ModelRun run(
        "machine.topology = \"single-gpu\"\nmemory.page_size = \"64KiB\"\nworkload.name = \"pointer_chase\"\n"
        "workload.pointer_chase.stride = \"65536 B\"\nworkload.pointer_chase.elements = 32\n"
        "workload.pointer_chase.hops = 32\ngpu.router.policy = \"centralized\"\n" +
        place + "organization = \"range\"\n");
    run.run();
    CHECK(run.total("sm", "l1_tlb_misses") == (place == "gpu.l1_tlb." ? 1 : 32));
    CHECK(run.total("l2_tlb", "misses") == (place == "iommu.tlb_" ? 32 : 1));
    CHECK(run.total("iommu", "tlb_misses") == 1);
  }
}

TEST_CASE("a TLB holds as many large pages as it has entries for them") {
  auto const misses = [](std::string const& more) {
    ModelRun run(large_pages(more));
    return run.run().total("sm", "l1_tlb_misses");
  };
  auto const by_size = std::string("gpu.l1_tlb.organization = \"by_page_size\"\n");
  CHECK(misses("") == 64);
  CHECK(misses(by_size + "gpu.l1_tlb.by_page_size.large_entries = 31\n") == 64);
  CHECK(misses(by_size + "gpu.l1_tlb.by_page_size.large_entries = 32\n") == 32);
  ModelRun run(large_pages(by_size + "gpu.l1_tlb.by_page_size.large_entries = 32\n"));
  CHECK(run.run().total("gpu.l1_tlb.organization", "large_hits") == 32);
  CHECK(run.total("gpu.l1_tlb.organization", "base_hits") == 0);
}

TEST_CASE("a compressed TLB holds more pages than entries if their frames are near each other") {
  // Six pages per set: in three of its four ways, two in each.
  auto const compressed = std::string(
      "gpu.l2_tlb.organization = \"compressed\"\ngpu.l2_tlb.compressed.compressed_percent = 75\n");
  CHECK(l2_misses_of_chain("") == 192);
  CHECK(l2_misses_of_chain(compressed) == 96);
  CHECK(l2_misses_of_chain(compressed + "memory.frame_allocation = \"per_application\"\n") == 96);
  // With distant frames, the first translation of each set is compressed, and the others share one way.
  CHECK(l2_misses_of_chain(compressed + "memory.frame_allocation = \"random\"\n") == 176);
  CHECK(l2_misses_of_chain(compressed + "memory.frame_allocation = \"interleaved\"\n"
                                        "memory.interleaved.parts = 96\n") == 176);
}

TEST_CASE("the preset's compressed L2 TLB holds 768 pages in order: 512 of one base, 256 others") {
  auto const misses = [](std::uint64_t pages, std::string const& more) {
    ModelRun run(
        "include = [\"paper-tlb-compression\"]\nworkload.name = \"pointer_chase\"\n"
        "workload.pointer_chase.stride = \"4096 B\"\nworkload.pointer_chase.order = \"lines\"\n"
        "workload.pointer_chase.elements = " +
        std::to_string(pages) + "\nworkload.pointer_chase.hops = " + std::to_string(2 * pages) + "\n" + more);
    return run.run().total("l2_tlb", "misses");
  };
  CHECK(misses(768, "") == 768);
  // A ninth page of a set with another base evicts the first one, and so on: all nine miss again. The hits of
  // the 16 pages with the set's base keep that base.
  CHECK(misses(769, "") == 769 + 9);
  CHECK(misses(800, "") == 800 + 32 * 9);
  // Hits do not count: the eighth repeated miss is the 17th uncompressed translation, so it becomes the new
  // base and evicts none.
  std::string const cumulative = "gpu.l2_tlb.compressed.rebasing = \"cumulative\"\n";
  CHECK(misses(768, cumulative) == 768);
  CHECK(misses(769, cumulative) == 769 + 8);
  CHECK(misses(800, cumulative) == 800 + 32 * 8);
  std::string const plain = "gpu.l2_tlb.organization = \"plain\"\n";
  CHECK(misses(512, plain) == 512);
  CHECK(misses(513, plain) == 513 + 17);
}

TEST_CASE("a range TLB misses once on contiguous pages, and as often as a plain one on others") {
  auto const range = std::string("gpu.l2_tlb.organization = \"range\"\n");
  CHECK(l2_misses_of_chain(range) == 1);
  CHECK(l2_misses_of_chain(range + "gpu.l2_tlb.range.fetched_pages = 0\n") == 96);
  CHECK(l2_misses_of_chain(range + "memory.frame_allocation = \"random\"\n") == 192);
}

TEST_CASE("the extra latency of a compressed translation counts as time in the L2 TLB") {
  auto const time = [](std::string const& cycles) {
    ModelRun run(large_pages(
        "gpu.l2_tlb.organization = \"compressed\"\ngpu.l2_tlb.compressed.latency = " + cycles + "\n"));
    run.run();
    CHECK(run.total("l2_tlb", "misses") == 32);
    CHECK(run.total("gpu.l2_tlb.organization", "compressed_hits") == 32);
    return run.kernel_time();
  };
  CHECK(time("7") - time("0") == 32 * 7 * 1ns);
}

}  // namespace tlb_organizations_test
