// SPDX-License-Identifier: Apache-2.0
#include "show/completion.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "capture.hpp"

namespace completion_test {

using namespace farfault;

namespace {

// The possible completions of the last word.
std::vector<std::string> completed(std::vector<std::string> words) {
  words.insert(words.begin(), {"completion", "words", "--"});
  auto const r = farfault_program(words);
  CHECK(r.code == 0);
  CHECK(r.err == "");
  std::vector<std::string> list;
  std::istringstream lines(r.out);
  for (std::string line; std::getline(lines, line);) list.push_back(line.substr(0, line.find('\t')));
  return list;
}

using Words = std::vector<std::string>;

bool has(Words const& list, std::string const& word) {
  return std::ranges::find(list, word) != list.end();
}

}  // namespace

TEST_CASE("completion: every command and its options are completed from the definitions of the help") {
  CHECK(completed({"val"}) == Words{"validate"});
  CHECK(completed({"--v"}) == Words{"--version"});
  auto const help = farfault_program({"--help"}).out;
  for (auto const& command : completed({""})) {
    CHECK(help.find(command) != help.npos);
    if (command[0] == '-') continue;
    auto const text = farfault_program({command, "--help"}).out;
    auto const options = completed({command, "--"});
    CHECK(has(options, "--help"));
    for (auto const& option : options) CHECK(text.find(option) != text.npos);
  }
  CHECK(completed({"run", "--thr"}) == Words{"--threads"});
  CHECK(completed({"nosuch", "--"}).empty());
}

TEST_CASE("completion: --set is completed with keys, and keys with their possible values") {
  CHECK(completed({"run", "--set", "gpu.l2_tlb.en"}) == Words{"gpu.l2_tlb.entries="});
  CHECK(completed({"run", "--set=gpu.l2_tlb.en"}) == Words{"--set=gpu.l2_tlb.entries="});
  CHECK(completed({"run", "--set", "memory.placement=c"}) ==
        Words{"memory.placement=contiguous", "memory.placement=cpu"});
  auto const with_texts =
      farfault_program({"completion", "words", "--", "run", "--set", "memory.placement=c"}).out;
  CHECK(with_texts.ends_with("memory.placement=cpu\tCPU memory\n"));
  CHECK(completed({"sweep", "s.toml", "--set", "workload.copies="}) ==
        Words{"workload.copies=true", "workload.copies=false"});
  CHECK(completed({"run", "--set", "workload.name=vectora"}) == Words{"workload.name=vectoradd"});
  CHECK(completed({"run", "--set", "run.seed="}).empty());
  CHECK(completed({"run", "--set", "workload.size="}) ==
        Words{"workload.size=default", "workload.size=small", "workload.size=medium", "workload.size=paper"});
  CHECK(completed({"inspect", "--set", "limits.vert"}) == Words{"limits.vertices="});
  CHECK(completed({"inspect", "--set", "memory."}).empty());
}

TEST_CASE("completion: params is completed with tables and keys") {
  auto const list = completed({"params", "gpu.l2_tlb"});
  CHECK(has(list, "gpu.l2_tlb"));
  CHECK(has(list, "gpu.l2_tlb.entries"));
  for (auto const& word : list) CHECK(farfault_program({"params", word}).code == 0);
  CHECK(completed({"params", "--s"}) == Words{"--search", "--schema"});
  CHECK(completed({"params", "--search", "tl"}).empty());
}

TEST_CASE("completion: fixed words, presets, and completions left to the shell") {
  CHECK(completed({"run", "--progress", "o"}) == Words{"on", "off"});
  CHECK(completed({"run", "dgx-a"}) == Words{"dgx-a100", ":files .toml"});
  CHECK(completed({"run", "--set", "run.seed=2", "dgx-a"}) == Words{"dgx-a100", ":files .toml"});
  CHECK(completed({"run", "--checkpoint", ""}) == Words{":files"});
  CHECK(completed({"run", "--trace-output", ""}) == Words{":files"});
  CHECK(completed({"run", "--trace", "1us,"}).empty());
  CHECK(completed({"sweep", "--output", "re"}) == Words{":folders"});
  CHECK(completed({"sweep", "s.toml", "--pivot", "gpu.l2_tlb.en"}) == Words{"gpu.l2_tlb.entries"});
  CHECK(completed({"sweep", "s.toml", "--pivot", "name", "gpu.l2_tlb.en"}) == Words{"gpu.l2_tlb.entries"});
  CHECK(completed({"sweep", "--pivot", "name", "gpu.sms", "s"}) == Words{":files .toml"});
  CHECK(completed({"diff", "a.h5", ""}) == Words{":files .h5 .h5.partial"});
  CHECK(completed({"run", "--until", "5"}).empty());
  CHECK(completed({"workloads", "vectora"}) == Words{"vectoradd"});
}

TEST_CASE("completion: an unknown shell gives one sentence") {
  for (auto const* shell : {"bash", "zsh", "fish"})
    CHECK(farfault_program({"completion", shell}).out.find("completion words -- ") != std::string::npos);
  auto const r = farfault_program({"completion", "tcsh"});
  CHECK(r.code == 2);
  CHECK(r.err == "farfault: 'tcsh' is not one of: bash, zsh, fish\n");
}

}  // namespace completion_test
