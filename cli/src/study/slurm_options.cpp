// SPDX-License-Identifier: Apache-2.0
#include "slurm_options.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace farfault::cli {
namespace {

constexpr std::string_view kForm = "is not an option of sbatch such as \"--partition=long\"";

struct Owned {
  std::string_view name;
  char letter;  // ' ': none
  std::string_view why;
};

constexpr std::string_view kBySweep = "the sweep sets it itself";
constexpr std::string_view kCores = "the sweep sets a task's cores from --jobs and --threads";
constexpr std::string_view kProgram = "a study cannot set the program, user or environment of a job";
constexpr std::string_view kFile = "a study cannot name a file that sbatch reads or writes";
constexpr std::string_view kSubmission = "the sweep submits its jobs and reads the output of sbatch";

constexpr std::array kOwned = {
    Owned{"array", 'a', kBySweep},        Owned{"job-name", 'J', kBySweep},
    Owned{"dependency", 'd', kBySweep},   Owned{"ntasks", 'n', kBySweep},
    Owned{"cpus-per-task", 'c', kCores},  Owned{"tres-per-task", ' ', kCores},
    Owned{"requeue", ' ', kBySweep},      Owned{"no-requeue", ' ', kBySweep},
    Owned{"chdir", 'D', kBySweep},        Owned{"workdir", ' ', kBySweep},
    Owned{"output", 'o', kFile},          Owned{"error", 'e', kFile},
    Owned{"input", 'i', kFile},           Owned{"open-mode", ' ', kFile},
    Owned{"nodefile", 'F', kFile},        Owned{"bbf", ' ', kFile},
    Owned{"export-file", ' ', kFile},     Owned{"export", ' ', kProgram},
    Owned{"get-user-env", ' ', kProgram}, Owned{"wrap", ' ', kProgram},
    Owned{"container", ' ', kProgram},    Owned{"container-id", ' ', kProgram},
    Owned{"uid", ' ', kProgram},          Owned{"gid", ' ', kProgram},
    Owned{"parsable", ' ', kSubmission},  Owned{"wait", 'W', kSubmission},
    Owned{"test-only", ' ', kSubmission}, Owned{"help", 'h', kSubmission},
    Owned{"usage", 'u', kSubmission},     Owned{"version", 'V', kSubmission},
};

// Options that a study may set. Any other option may belong to a plug-in of the site and change the executed
// program.
constexpr std::array<std::string_view, 55> kWithValue = {"account",
                                                         "acctg-freq",
                                                         "begin",
                                                         "cluster-constraint",
                                                         "clusters",
                                                         "comment",
                                                         "constraint",
                                                         "core-spec",
                                                         "cores-per-socket",
                                                         "cpu-freq",
                                                         "cpus-per-gpu",
                                                         "deadline",
                                                         "delay-boot",
                                                         "distribution",
                                                         "exclude",
                                                         "extra-node-info",
                                                         "gpu-bind",
                                                         "gpu-freq",
                                                         "gpus",
                                                         "gpus-per-node",
                                                         "gpus-per-socket",
                                                         "gpus-per-task",
                                                         "gres",
                                                         "gres-flags",
                                                         "hint",
                                                         "licenses",
                                                         "mail-type",
                                                         "mail-user",
                                                         "mem",
                                                         "mem-bind",
                                                         "mem-per-cpu",
                                                         "mem-per-gpu",
                                                         "mincpus",
                                                         "nodelist",
                                                         "nodes",
                                                         "ntasks-per-core",
                                                         "ntasks-per-gpu",
                                                         "ntasks-per-node",
                                                         "ntasks-per-socket",
                                                         "partition",
                                                         "power",
                                                         "prefer",
                                                         "priority",
                                                         "qos",
                                                         "reservation",
                                                         "signal",
                                                         "sockets-per-node",
                                                         "switches",
                                                         "thread-spec",
                                                         "threads-per-core",
                                                         "time",
                                                         "time-min",
                                                         "tmp",
                                                         "tres-bind",
                                                         "wckey"};
// Without a value, or with an optional one.
constexpr std::array<std::string_view, 13> kFlags = {
    "contiguous", "exclusive", "hold",       "nice",          "no-kill", "overcommit",    "oversubscribe",
    "quiet",      "reboot",    "spread-job", "use-min-nodes", "verbose", "wait-all-nodes"};
constexpr std::string_view kFlagLetters = "HkOQsv", kLettersWithValue = "AbBCGLMmNpqStwx";

// sbatch splits a line at blanks, removes quotes and backslashes, and ignores text after a '#'.
bool is_one_word(std::string_view option) {
  return std::all_of(option.begin(), option.end(), [](char c) {
    return c > ' ' && c <= '~' && std::string_view("\"'\\#").find(c) == std::string_view::npos;
  });
}

std::string why_not_owned(Owned const& owned) {
  return "cannot be set by a study (" + std::string(owned.name) + "): " + std::string(owned.why);
}

std::string why_not_listed() {
  std::string names;
  for (auto const& list :
       {std::span<std::string_view const>(kWithValue), std::span<std::string_view const>(kFlags)})
    for (auto const name : list) names += (names.empty() ? "" : ", ") + std::string(name);
  return "is not an option that a study can set; options: " + names;
}

// sbatch interprets a node list with a slash as a file name.
std::string why_no_value(std::string_view name, std::string_view value) {
  bool const is_node_list = name == "nodelist" || name == "exclude";
  return is_node_list && value.find('/') != value.npos ? "names a file (" + std::string(kFile) + ")"
                                                       : std::string();
}

std::string why_no_letter(std::string_view option) {
  auto const letter = option[1];
  for (auto const& owned : kOwned)
    if (owned.letter == letter) return why_not_owned(owned);
  bool const is_flag = kFlagLetters.find(letter) != kFlagLetters.npos;
  if (!is_flag && kLettersWithValue.find(letter) == kLettersWithValue.npos) return std::string(kForm);
  if (is_flag && option.size() > 2) return "contains several options; write each as a separate word";
  if (!is_flag && option.size() == 2) return "has no value; write it as in \"-plong\"";
  return why_no_value(letter == 'w' ? "nodelist" : letter == 'x' ? "exclude" : "", option.substr(2));
}

std::string why_no_name(std::string_view option) {
  auto const equals = option.find('=');
  auto const name = option.substr(2, std::min(equals, option.size()) - 2);
  bool const is_name = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
  if (!is_name) return std::string(kForm);
  if (std::ranges::find(kFlags, name) != kFlags.end()) return {};
  if (std::ranges::find(kWithValue, name) != kWithValue.end()) {
    if (equals == option.npos) return "has no value; write it as in \"--partition=long\"";
    return why_no_value(name, option.substr(equals + 1));
  }
  // sbatch accepts unique prefixes of option names.
  auto const whole = std::ranges::find(kOwned, name, &Owned::name);
  if (whole != kOwned.end()) return why_not_owned(*whole);
  for (auto const& owned : kOwned)
    if (owned.name.starts_with(name)) return why_not_owned(owned);
  return why_not_listed();
}

}  // namespace

std::string why_no_slurm_option(std::string const& option) {
  if (option.size() < 2 || option[0] != '-') return std::string(kForm);
  if (!is_one_word(option))
    return "must be one word of ASCII characters, without quotes, backslashes and '#'";
  return option[1] == '-' ? why_no_name(option) : why_no_letter(option);
}

}  // namespace farfault::cli
