// SPDX-License-Identifier: Apache-2.0
// Command lines, one word per line of the input. Nothing runs and nothing is written: every `run` and `sweep`
// gets an unknown parameter, `workloads`, which counts the accesses of what it lists, an unknown workload,
// and words can name files of an empty folder only.
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "farfault/cli/command_line.hpp"
#include "harness.hpp"

using namespace farfault;

namespace {

std::vector<std::string> words_of(std::string_view text) {
  constexpr std::size_t kMaxWords = 64;
  std::vector<std::string> words;
  while (!text.empty() && words.size() < kMaxWords) {
    auto const end = std::min(text.find('\n'), text.size());
    auto word = std::string(text.substr(0, end));
    std::ranges::replace(word, '/', '_');
    std::ranges::replace(word, '\0', '_');
    words.push_back(std::move(word));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

}  // namespace

void fuzz_one(fuzz::Bytes input) {
  static fuzz::MemoryFolder const folder;
  static int const moved = ::chdir(folder.path().c_str());
  fuzz::expect(moved == 0, "the folder in memory is accessible");
  auto words = words_of(fuzz::text_of(input));
  auto const has = [&](char const* word) { return std::ranges::find(words, word) != words.end(); };
  if (has("run") || has("sweep")) words.insert(words.end(), {"--set", "no_such_parameter=1"});
  if (has("workloads")) words.emplace_back("no_such_workload");
  std::ostringstream out, err;
  auto const code = cli::command_line(std::move(words), out, err);
  auto const printed = err.str();
  fuzz::expect(code == cli::kDone || code == cli::kRunFailed || code == cli::kInputWrong,
               "an exit code is known");
  if (code != cli::kInputWrong) return;
  fuzz::expect(printed.starts_with("farfault: ") && printed.ends_with('\n'), "an error message is one line",
               printed);
  fuzz::expect_sentence(std::string_view(printed).substr(0, printed.size() - 1));
}
