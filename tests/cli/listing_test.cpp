// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/listing.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string_view>

#include "capture.hpp"
#include "show/listing_layout.hpp"

namespace listing_test {

using namespace farfault;

namespace {

bool contains(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

std::string listed(std::string section, std::size_t columns = 100, std::vector<std::string> search = {}) {
  std::ostringstream out;
  cli::list_parameters(cli::parameter_sections(), {std::move(section), std::move(search), false, columns},
                       out);
  return out.str();
}

std::vector<std::string> keys_with(std::vector<std::string> words, std::string section = {}) {
  std::vector<std::string> keys;
  std::istringstream lines(listed(std::move(section), 100, std::move(words)));
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("  ") && line.size() > 2 && line[2] != ' ') keys.push_back(line.substr(2));
  return keys;
}

}  // namespace

TEST_CASE("params: text, unit, range, default and source of a parameter have lines of their own") {
  CHECK(listed("gpu.l2_tlb.mshrs") ==
        "[gpu.l2_tlb] TLB shared by the SMs of a GPU\n"
        "\n"
        "  gpu.l2_tlb.mshrs\n"
        "      Maximum pages with an outstanding miss\n"
        "      Unit     count\n"
        "      Range    1 to 4096\n"
        "      Default  64\n"
        "      Source   Akita 4.9: 64 (R9 Nano builder)\n"
        "      Page     reference/parameters/gpu-l2-tlb.html#gpu-l2-tlb-mshrs\n");
  CHECK(contains(listed("memory.recorded.map"), "\n      Default    \"\"\n"));
  auto const flag = listed("iommu.merge");
  CHECK(contains(flag, "\n      Unit       true or false\n      Default    true\n"));
}

TEST_CASE("params: the alternatives of a choice have one line each, with their texts") {
  CHECK(contains(listed("memory.placement"),
                 "\n      Page placement before the first kernel\n"
                 "        contiguous   each buffer in equal contiguous parts, one per GPU\n"
                 "        cpu          CPU memory\n"
                 "        first_touch  GPU that touches the page first\n"
                 "        interleave   GPUs round-robin\n"
                 "        recorded     device in the page map memory.recorded.map\n"
                 "      Default     interleave\n"));
  CHECK(contains(listed("gpu.l2_cache.miss_path"),
                 "\n      Source of a line whose home slice is in another partition\n"
                 "        home_slice  its home slice; hardware keeps the copies coherent\n"));
}

TEST_CASE("params: a choice of a policy lists the parameters of each implementation after its name") {
  auto const order = listed("driver.batch.eviction_order");
  CHECK(contains(order,
                 "\n      Default     aged_lru\n"
                 "      Source      NVIDIA's driver (uvm_pmm_gpu.c): aged_lru\n"
                 "      Parameters  lru: driver.batch.lru.epoch\n"
                 "      Parameters  random: driver.batch.random.seed\n"
                 "      Only with   "));
  CHECK(contains(listed("gpu.router.policy"),
                 "\n      Parameters  gmmu_bypass: gpu.router.gmmu_bypass.epoch, gpu.router.gmmu_bypass.t1,\n"
                 "                  gpu.router.gmmu_bypass.t2, gpu.router.gmmu_bypass.counter_bits,\n"
                 "                  gpu.router.gmmu_bypass.overflow\n"));
  CHECK(contains(listed("gpu.scalar_cache.tlb_replacement"),
                 "\n      Parameters  random: gpu.scalar_cache.tlb_random.seed\n"));
  CHECK_FALSE(contains(listed("memory.scope"), "Parameters"));
  CHECK_FALSE(contains(listed("gpu.router.gmmu_bypass"), "Parameters"));
  CHECK(contains(
      farfault_program({"params", "driver.batch.eviction_order", "--json"}).out,
      "{\"name\":\"random\",\"text\":\"random unit\",\"parameters\":[\"driver.batch.random.seed\"]}"));
}

TEST_CASE("params: a choice has its values and their texts, and no other parameter has any") {
  auto const sections = cli::parameter_sections();
  for (auto const& section : sections.all())
    for (auto const& p : section.table.all()) {
      CAPTURE(p.name);
      CHECK(p.choices.empty() == (p.kind != ParamKind::choice));
      std::string range;
      for (auto const& c : p.choices) {
        range += (range.empty() ? "one of: " : ", ") + c.name;
        CHECK_FALSE(c.text.empty());
        CHECK_FALSE(contains(p.text, c.text));
      }
      if (p.kind == ParamKind::choice) CHECK(range == p.range);
    }
}

TEST_CASE("listings are wrapped between words to the width of the terminal") {
  for (std::size_t const columns : {20U, 60U, 100U, 200U}) {
    CAPTURE(columns);
    std::istringstream lines(listed("", columns));
    std::size_t longest = 0, blank_ends = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.ends_with(' ')) ++blank_ends;
      std::size_t label = 0;
      for (std::string_view const name : {"      Only with  ", "      Parameters  ", "      Page "})
        if (line.starts_with(name)) label = name.size();
      auto const words = line.find_first_not_of(' ', label);
      if (words != line.npos && line.find(' ', words) == line.npos) continue;  // one word, of any length
      longest = std::max(longest, line.size());
    }
    CHECK(blank_ends == 0);
    CHECK(longest <= std::max<std::size_t>(columns, cli::kNarrowest));
    CHECK(longest + 20 > columns);
  }
  // The same words at any width.
  auto const words = [](std::string const& text) {
    std::istringstream in(text);
    std::string all;
    for (std::string word; in >> word;) all += word + " ";
    return all;
  };
  CHECK(words(listed("", 40)) == words(listed("", 500)));
  std::ostringstream out;
  cli::print_pairs(out, {{"name", "in \u00b5s and ms, each counted as it looks"}}, 2, 40);
  CHECK(out.str() == "  name  in \u00b5s and ms, each counted as it\n        looks\n");
}

TEST_CASE("params --search: every word must occur in key, text, choices or source, in any case") {
  CHECK(keys_with({"mshrs", "L2_TLB"}) == std::vector<std::string>{"gpu.l2_tlb.mshrs"});
  CHECK(keys_with({"l2_tlb mshrs"}) == keys_with({"mshrs", "l2_tlb"}));
  CHECK(keys_with({"MSHRS"}).size() > 5);
  CHECK(keys_with({"MSHRS"}) == keys_with({"mshrs"}));
  CHECK(keys_with({"mshrs"}, "gpu.l2_cache") ==
        std::vector<std::string>{"gpu.l2_cache.mshrs", "gpu.l2_cache.translation_aware_bypass.own_mshrs"});
  CHECK(keys_with({"round-robin", "placement"}).front() == "memory.placement");  // an alternative's text
  CHECK(keys_with({"nvlink_mesh"}) == std::vector<std::string>{"machine.generic.fabric"});  // its name
  CHECK(keys_with({"kim", "isca"}).front() == "machine.cluster.routers_per_group");         // a source
}

TEST_CASE("params --search: as words of the command line, as JSON, and without a match") {
  auto const found = farfault_program({"params", "gpu.l2_tlb", "--search", "Outstanding", "PAGES", "--json"});
  CHECK(found.code == 0);
  CHECK(std::count(found.out.begin(), found.out.end(), '{') == 2);
  CHECK(contains(found.out, "{\"key\":\"gpu.l2_tlb.mshrs\",\"unit\":\"count\",\"default\":\"64\","));
  auto const wrong = [](std::vector<std::string> words, std::string const& sentence) {
    auto const r = farfault_program(std::move(words));
    CHECK(r.code == 2);
    CHECK(r.out == "");
    CHECK(r.err == "farfault: " + sentence + "\n");
  };
  wrong({"params", "--search", "mshrs", "nosuchword"},
        "no parameter contains 'mshrs' and 'nosuchword'; use fewer or shorter words");
  wrong({"params", "--search", "nosuchword", "--json"},
        "no parameter contains 'nosuchword'; use fewer or shorter words");
  wrong({"params", "--search", " "}, "--search has no word; example: --search mshrs");
  wrong({"params", "mshrs"}, "unknown parameter or section 'mshrs'; --search WORD searches keys and texts");
  wrong(
      {"params", "gpu.l2_tbl"},
      "unknown parameter or section 'gpu.l2_tbl'; did you mean 'gpu.l2_tlb'? --search WORD searches keys and "
      "texts");
  for (auto const* other : {"gpu", "--json", "--search=tlb"})
    CHECK(farfault_program({"params", other, "--schema"}).code == 2);
}

TEST_CASE("params --json: a choice lists its alternatives with their texts") {
  auto const r = farfault_program({"params", "memory.scope", "--json"});
  CHECK(contains(r.out,
                 "\"choices\":[{\"name\":\"cluster\",\"text\":\"all machines (unified memory, one driver, "
                 "kernels over all GPUs)\",\"parameters\":[]},{\"name\":\"node\",\"text\":\"each machine "
                 "separately"));
  CHECK_FALSE(contains(farfault_program({"params", "gpu.sms", "--json"}).out, "choices"));
}

TEST_CASE("statistics --search lists the statistics and columns with all words") {
  auto const called = [](std::vector<std::string> more) {
    std::vector<std::string> words{"statistics", "paper-gmmu-bypass",
                                   "--set",      "workload.name=vectoradd",
                                   "--set",      "workload.vectoradd.elements=1024"};
    words.insert(words.end(), more.begin(), more.end());
    return farfault_program(words);
  };
  auto const r = called({"--search", "GMMU", "walk_latency"});
  CHECK(r.code == 0);
  CHECK(r.out.starts_with("/timeseries/gmmu, 4 instances\n\n  walk_latency\n      "));
  CHECK(contains(r.out, "\n      Unit  ns\n      Kind  histogram\n"));
  CHECK_FALSE(contains(r.out, "/tables/"));
  auto const columns = called({"--search", "kernels/finished", "--json"});
  CHECK(columns.out.starts_with(
      "{\"statistics\":[{\"path\":\"/tables/kernels/finished\",\"unit\":\"ps\",\"text\":"));
  auto const none = called({"--search", "nosuchword"});
  CHECK(none.code == 2);
  CHECK(none.err == "farfault: no statistic contains 'nosuchword'; use fewer or shorter words\n");
}

}  // namespace listing_test
