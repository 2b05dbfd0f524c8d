// SPDX-License-Identifier: Apache-2.0
// Levels of TLBs in a configuration: each mistake is one sentence with its place.
#include "farfault/topologies/translation_levels.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "farfault/topologies/machine_config.hpp"

namespace translation_levels_config_test {

using namespace farfault;
using namespace farfault::topologies;

namespace {

std::string refusal(std::string const& toml, std::vector<std::string> const& sets = {},
                    std::uint32_t gpu_sms = 16) {
  try {
    Config config(find_preset);
    MachineConfig::prepare(config);
    config.read_text(toml, "f");
    for (auto const& set : sets) config.set(set);
    MachineConfig machine;
    machine.bind(config);
    config.reject_errors();
    machine.check(config);
    config.reject_errors();
    machine.translation.fit_to(gpu_sms, machine.l2_cache.parts().count, config);
    config.reject_errors();
  } catch (UserError const& error) {
    return error.what();
  }
  return "accepted";
}
std::string level(std::string const& name, std::string const& more = "") {
  return "[[gpu.translation.level]]\nname = \"" + name + "\"\n" + more;
}

}  // namespace

TEST_CASE("levels of TLBs: a mistake is one sentence with file, line and rule") {
  CHECK(refusal(level("utlb", "sms = 2\n") + level("l2_tlb", "banks = 8\n")) == "accepted");
  CHECK(refusal(level("utlb") + level("utlb")) ==
        "f:4: gpu.translation.level.1: level 'utlb' already exists (f:1)");
  CHECK(refusal("[[gpu.translation.level]]\nsms = 2\n") ==
        "f:1: gpu.translation.level.0: needs a name, e.g. name = \"utlb\"");
  for (std::string const name : {"dram", "TLB", "_tlb", "u tlb", "", "tlb2"})
    CHECK(refusal(level(name)) ==
          "f:2: gpu.translation.level.0: name = '" + name +
              "' must have lower-case letters, digits and '_' only, at most 32, and end with "
              "'tlb', e.g. \"utlb\" or \"gpc_tlb\"");
  CHECK(
      refusal(level("utlb", "next = \"l2_tlb\"\n") + level("l2_tlb", "next = \"utlb\"\n")) ==
      "f:6: gpu.translation.level.l2_tlb: misses go in a cycle, utlb -> l2_tlb -> utlb; the last level must "
      "have next = \"gmmu\"");
  CHECK(
      refusal(level("utlb", "next = \"utlb\"\n")) ==
      "f:3: gpu.translation.level.utlb: misses go in a cycle, utlb -> utlb; the last level must have next = "
      "\"gmmu\"");
  CHECK(refusal(level("sm_l2_tlb")) ==
        "f:2: gpu.translation.level.0: name = 'sm_l2_tlb' must not begin with 'sm_', which names other "
        "statistics of TLBs");
  CHECK(refusal(level(std::string(29, 'a') + "tlb")) == "accepted");
  CHECK(refusal(level(std::string(30, 'a') + "tlb")) != "accepted");
  CHECK(refusal(level("utlb", "next = \"l2tlb\"\n") + level("l2_tlb")) ==
        "f:3: gpu.translation.level.utlb.next = l2tlb must be the name of a level or \"gmmu\"; did you mean "
        "'l2_tlb'?");
  CHECK(
      refusal(level("utlb", "next = \"gmmu\"\n") + level("l2_tlb")) ==
      "f:4: gpu.translation.level.l2_tlb: no level sends its misses here; the SMs send theirs to 'utlb', the "
      "first table");
  CHECK(refusal(level("utlb", "ports = 0\n")) ==
        "f:3: gpu.translation.level.utlb.ports: '0' is outside 1 to 64");
  CHECK(refusal(level("utlb", "banks = 0\n")) ==
        "f:3: gpu.translation.level.utlb.banks: '0' is outside 1 to 256");
  CHECK(refusal(level("utlb", "ways = 3\n")) ==
        "f:3: gpu.translation.level.utlb.ways = 3 must divide the number of entries, 256");
  CHECK(
      refusal(level("utlb", "banks = 2\ninterleave = \"12 KiB\"\n")) ==
      "f:4: gpu.translation.level.utlb.interleave = 12 KiB must be a power of two, and at least the largest "
      "page, 4 KiB");
  CHECK(
      refusal("memory.page_sizes = \"large_only\"\n" +
              level("utlb", "banks = 2\ninterleave = \"64 KiB\"\n")) ==
      "f:5: gpu.translation.level.utlb.interleave = 64 KiB must be a power of two, and at least the largest "
      "page, 2 MiB");
  CHECK(refusal(level("utlb", "entires = 8\n")) ==
        "f:3: unknown key 'gpu.translation.level.utlb.entires'; did you mean "
        "'gpu.translation.level.utlb.entries'?");
  std::string many;
  for (char c = 'a'; c <= 'i'; ++c) many += level(std::string(1, c) + "tlb");
  CHECK(refusal(many) ==
        "f:17: gpu.translation.level.8: 9 levels of TLBs are defined; at most 8 are possible");
  for (std::string const wrong : {"[]", "[1, 2]"})
    CHECK(refusal("gpu.translation.level = " + wrong + "\n") ==
          "f:1: gpu.translation.level: must be tables [[gpu.translation.level]], one for each level");
  CHECK(refusal("[gpu.translation.level]\nname = \"utlb\"\n") ==
        "f:2: gpu.translation.level.name: belongs to no table [[gpu.translation.level]]; write the heading "
        "of the "
        "table in double brackets");
}

TEST_CASE("levels of TLBs: groups that do not fit the SMs of a GPU are refused") {
  CHECK(refusal(level("utlb", "groups = 16\n")) == "accepted");
  CHECK(refusal(level("utlb", "groups = 17\n")) ==
        "f:3: gpu.translation.level.utlb.groups = 17 must be at most the SMs of a GPU, 16");
  CHECK(refusal(level("utlb", "groups = 7\nsms = 2\n")) ==
        "f:3: gpu.translation.level.utlb.groups = 7 must be at least 8: SM 14 of 16 is in no group of 2 SMs");
  CHECK(refusal(level("utlb", "groups = 9\nsms = 2\n")) ==
        "f:3: gpu.translation.level.utlb.groups = 9 must be at most 8: 2 SMs each, of 16");
  CHECK(
      refusal(level("utlb", "sms = 4\n") + level("gpc_tlb", "sms = 6\n")) ==
      "f:4: gpu.translation.level.gpc_tlb: SMs 5 and 6 are in one group of level 'utlb' but in two groups of "
      "level 'gpc_tlb', which receives its misses");
  CHECK(refusal(level("utlb", "sms = 3\n") + level("gpc_tlb", "sms = 6\n")) == "accepted");
}

TEST_CASE("levels of TLBs: a level has at most 65,536 TLBs, whose numbers have 16 bits") {
  CHECK(refusal(level("utlb", "sms = 1\nbanks = 256\n"), {}, 256) == "accepted");
  CHECK(
      refusal(level("utlb", "sms = 1\nbanks = 256\n"), {}, 304) ==
      "f:4: gpu.translation.level.utlb.banks = 256 must be at most 215: 304 groups of the level have at most "
      "65536 TLBs");
}

TEST_CASE("levels of TLBs replace the L2 TLB of earlier layers, not of the same one") {
  auto const both =
      "gpu.l2_tlb.entries: [[gpu.translation.level]] (f:2) replaces [gpu.l2_tlb]; set the parameters of a "
      "level "
      "instead, such as gpu.translation.level.utlb.entries";
  CHECK(refusal("gpu.l2_tlb.entries = 8\n" + level("utlb")) == std::string("f:1: ") + both);
  CHECK(refusal("include = [\"gpu-a100\"]\n" + level("utlb")) == "accepted");
  CHECK(refusal("\n" + level("utlb"), {"gpu.l2_tlb.entries=8"}) == std::string("--set ") + both);
}

TEST_CASE("levels of TLBs: a later layer changes a level by its name") {
  CHECK(refusal(level("utlb"), {"gpu.translation.level.utlb.entries=64"}) == "accepted");
  CHECK(refusal(level("utlb"), {"gpu.translation.level.utbl.entries=64"}) ==
        "--set gpu.translation.level.utbl.entries: unknown level 'utbl'; did you mean 'utlb'?");
  CHECK(refusal(level("utlb"), {"gpu.translation.level.utlb.name=l2_tlb"}) ==
        "--set gpu.translation.level.utlb.name: is the name of the table and cannot be changed");
}

TEST_CASE("levels of TLBs: groups are adjacent SMs, by size or by number") {
  TlbLevelParams level;
  CHECK(level.groups_of(10) == 1);
  CHECK(level.group_of(9, 10) == 0);
  level.sms = 4;
  CHECK(level.groups_of(10) == 3);
  CHECK(level.group_of(3, 10) == 0);
  CHECK(level.group_of(8, 10) == 2);
  level.sms = 0;
  level.groups = 4;
  std::vector<std::uint32_t> groups;
  for (std::uint32_t sm = 0; sm < 10; ++sm) groups.push_back(level.group_of(sm, 10));
  CHECK(groups == std::vector<std::uint32_t>{0, 0, 0, 1, 1, 2, 2, 2, 3, 3});
}

TEST_CASE("levels of TLBs: misses follow `next`, from the first table to the GMMU") {
  Config config(find_preset);
  config.read_text(level("utlb", "next = \"gpc_tlb\"\n") + level("l2_tlb", "next = \"gmmu\"\n") +
                       level("gpc_tlb", "next = \"l2_tlb\"\n"),
                   "f");
  MachineConfig machine;
  machine.bind(config);
  machine.check(config);
  config.reject_errors();
  std::vector<std::string> names;
  for (auto const& each : machine.tlb_levels()) names.push_back(each.name);
  CHECK(names == std::vector<std::string>{"utlb", "gpc_tlb", "l2_tlb"});
}

TEST_CASE("chiplets: a mistake is one sentence with file, line and rule") {
  auto const gpu = [](std::string const& more) {
    return "gpu.l2_cache.partitions = 4\ngpu.l2_cache.miss_path = \"direct\"\n" + more;
  };
  auto const spread = level("l2_tlb", "banks = 4\nhash = \"turns\"\nfar_latency = 100\n");
  CHECK(refusal(gpu("") + spread) == "accepted");
  CHECK(refusal(gpu("memory.page_tables = \"with_tlb\"\ngpu.l2_cache.partition_block = \"64 KiB\"\n") +
                spread) == "accepted");
  CHECK(refusal(gpu("gpu.l2_cache.partition_block = \"48 KiB\"\n")) ==
        "f:3: gpu.l2_cache.partition_block = 48 KiB must be a power of two and at least "
        "gpu.l2_cache.interleave, 256 B");
  CHECK(refusal(gpu("gpu.dram.channels = 2\n")) ==
        "f:3: gpu.dram.channels = 2 must be a multiple of gpu.l2_cache.partitions, 4, and at most "
        "gpu.l2_cache.slices, 16, with gpu.l2_cache.miss_path = direct");
  CHECK(refusal(gpu("gpu.page_walk_cache.size = \"8 KiB\"\n")) ==
        "f:3: gpu.page_walk_cache.size: the cache is for all page walkers of a GPU, but with "
        "gpu.l2_cache.miss_path = direct these are in several partitions; use gpu.gmmu.walk_cache");
  CHECK(refusal(gpu("memory.frame_allocation = \"by_partition\"\n")) ==
        "f:3: memory.frame_allocation = by_partition: needs gpu.l2_cache.partition_block of at least 4 KiB; "
        "blocks of all gpu.l2_cache.partitions must divide 7/8 of gpu.dram.capacity, 3584 MiB, and fit into "
        "the rest");
  CHECK(refusal(gpu("memory.page_tables = \"with_data\"\ngpu.l2_cache.partition_block = \"256 MiB\"\n"))
            .starts_with(
                "f:3: memory.page_tables = with_data: needs gpu.l2_cache.partition_block of at least "));
  CHECK(refusal(gpu("gpu.l2_cache.partition_latency = 0\n")) ==
        "f:3: gpu.l2_cache.partition_latency = 0 must be at least 1 with gpu.l2_cache.miss_path = direct");
  CHECK(refusal(gpu("gpu.blocks = \"by_partition\"\ngpu.sm.thread_blocks = \"throttling\"\n"))
            .starts_with("f:3: gpu.blocks = by_partition: gpu.sm.thread_blocks = throttling stops SMs"));
  CHECK(refusal("memory.frame_allocation = \"by_partition\"\n") ==
        "f:1: memory.frame_allocation = by_partition: needs gpu.l2_cache.miss_path = direct and several "
        "gpu.l2_cache.partitions");
  CHECK(
      refusal(gpu("memory.page_tables = \"with_tlb\"\ngpu.l2_cache.partition_block = \"64 KiB\"\n") +
              level("l2_tlb", "banks = 4\nfar_latency = 100\n")) ==
      "f:3: memory.page_tables = with_tlb: needs a last gpu.translation.level whose banks are a multiple of "
      "gpu.l2_cache.partitions, with hash = turns and an interleave that is a multiple of the pages of a "
      "last table, 2 MiB");
  CHECK(refusal(gpu("") + level("l2_tlb", "banks = 6\nfar_latency = 100\n")) ==
        "f:6: gpu.translation.level.l2_tlb.far_latency = 100: needs one group whose number of banks is a "
        "multiple of gpu.l2_cache.partitions, 4; the level has 1 group of 6 banks");
  auto const balanced = level("l2_tlb", "banks = 4\nfar_latency = 100\nbalance = \"mgvm\"\n");
  CHECK(refusal(gpu("") + balanced + level("l3_tlb")) ==
        "f:7: gpu.translation.level.l2_tlb.balance = mgvm: needs a single gpu.translation.level");
  CHECK(
      refusal(gpu("memory.remote_touch = \"migrate\"\n") + balanced) ==
      "f:8: gpu.translation.level.l2_tlb.balance = mgvm: faulted accesses would miss their replay, because a "
      "page may be in two banks; place all pages before the first kernel, and choose a memory.remote_touch "
      "that does not move them");
}

}  // namespace translation_levels_config_test
