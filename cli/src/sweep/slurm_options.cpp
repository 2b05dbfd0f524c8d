// SPDX-License-Identifier: Apache-2.0
#include "slurm_options.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace farfault::cli {
namespace {

constexpr std::string_view kForm = "is not an option of sbatch such as \"--partition=long\"";

struct Owned {
  std::string_view name;
  char letter;  // ' ': it has none
  std::string_view why;
};

constexpr std::string_view kBySweep = "the sweep sets it itself";
constexpr std::string_view kProgram = "a study does not say what is run, as whom, or with what environment";
constexpr std::string_view kFile = "a study names no file that sbatch reads or writes";
constexpr std::string_view kSubmission = "the sweep itself submits its jobs and reads what sbatch answers";

constexpr std::array kOwned = {
    Owned{"array", 'a', kBySweep},
    Owned{"job-name", 'J', kBySweep},
    Owned{"dependency", 'd', kBySweep},
    Owned{"ntasks", 'n', kBySweep},
    Owned{"cpus-per-task", 'c', "the sweep sets it from --jobs and --threads"},
    Owned{"requeue", ' ', kBySweep},
    Owned{"no-requeue", ' ', kBySweep},
    Owned{"chdir", 'D', kBySweep},
    Owned{"workdir", ' ', kBySweep},
    Owned{"output", 'o', kFile},
    Owned{"error", 'e', kFile},
    Owned{"input", 'i', kFile},
    Owned{"open-mode", ' ', kFile},
    Owned{"nodefile", 'F', kFile},
    Owned{"bbf", ' ', kFile},
    Owned{"export-file", ' ', kFile},
    Owned{"export", ' ', kProgram},
    Owned{"get-user-env", ' ', kProgram},
    Owned{"wrap", ' ', kProgram},
    Owned{"container", ' ', kProgram},
    Owned{"container-id", ' ', kProgram},
    Owned{"uid", ' ', kProgram},
    Owned{"gid", ' ', kProgram},
    Owned{"parsable", ' ', kSubmission},
    Owned{"wait", 'W', kSubmission},
    Owned{"test-only", ' ', kSubmission},
    Owned{"help", 'h', kSubmission},
    Owned{"usage", 'u', kSubmission},
    Owned{"version", 'V', kSubmission},
};

// Options that take no value, or may have none. One that needs a value and has none would take the next line.
constexpr std::array<std::string_view, 16> kWithoutValue = {
    "contiguous", "exclusive",     "hold",      "ignore-pbs",    "no-kill", "nice",
    "overcommit", "oversubscribe", "propagate", "quiet",         "reboot",  "share",
    "spread-job", "use-min-nodes", "verbose",   "wait-all-nodes"};
constexpr std::string_view kFlags = "HkOQsv", kWithValue = "ABbCGLMmNpqStwx";

// The name of another option that one of kOwned begins with.
constexpr std::string_view kBurstBuffer = "bb";

// sbatch splits a line at blanks, takes quotes and backslashes away and ignores what follows a '#'.
bool is_one_word(std::string_view option) {
  return std::all_of(option.begin(), option.end(), [](char c) {
    return c > ' ' && c <= '~' && std::string_view("\"'\\#").find(c) == std::string_view::npos;
  });
}

std::string why_not_owned(Owned const& owned) {
  return "is not a study's to give (" + std::string(owned.name) + "): " + std::string(owned.why);
}

std::string why_no_letter(std::string_view option) {
  auto const letter = option[1];
  for (auto const& owned : kOwned)
    if (owned.letter == letter) return why_not_owned(owned);
  bool const is_flag = kFlags.find(letter) != kFlags.npos;
  if (!is_flag && kWithValue.find(letter) == kWithValue.npos) return std::string(kForm);
  if (is_flag && option.size() > 2) return "is more than one option; give each as a word of its own";
  if (!is_flag && option.size() == 2) return "has no value; write it as in \"-plong\"";
  return {};
}

std::string why_no_name(std::string_view option) {
  auto const name = option.substr(2, std::min(option.find('='), option.size()) - 2);
  bool const is_name = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
  if (!is_name) return std::string(kForm);
  // sbatch takes the beginning of a name for all of it.
  auto const whole = std::ranges::find(kOwned, name, &Owned::name);
  if (whole != kOwned.end()) return why_not_owned(*whole);
  if (name != kBurstBuffer)
    for (auto const& owned : kOwned)
      if (owned.name.starts_with(name)) return why_not_owned(owned);
  bool const needs_value = std::find(kWithoutValue.begin(), kWithoutValue.end(), name) == kWithoutValue.end();
  if (needs_value && option.find('=') == option.npos)
    return "has no value; write it as in \"--partition=long\"";
  return {};
}

}  // namespace

std::string why_no_slurm_option(std::string const& option) {
  if (option.size() < 2 || option[0] != '-') return std::string(kForm);
  if (!is_one_word(option))
    return "must be one word of ASCII characters, without quotes, backslashes and '#'";
  return option[1] == '-' ? why_no_name(option) : why_no_letter(option);
}

}  // namespace farfault::cli
