// SPDX-License-Identifier: Apache-2.0
// Private: parameters of one [[application]], and the syntax of its lists of GPUs and SMs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/cli/run_options.hpp"
#include "farfault/engine/params.hpp"

namespace farfault::cli {

struct ApplicationParams {
  std::string name;
  std::string workload;
  workloads::SizeName size = workloads::SizeName::defaults;
  std::string space = "own";
  std::string gpus = "all";
  std::string sms = "all";
  Duration start{};
  std::uint32_t repeats = 1;
  bool relaunch = false;
  ProgramParams program;
  void describe(ParamTable& t);
};

// A selection of GPUs or SMs: all, an equal share, a count, or a list.
class Share {
 public:
  // Parses "all", "equal", a count such as "15", or a list such as "0-14, 20"; numbers in any order, each
  // once. Throws UserError with the value and the rule.
  static Share of(std::string_view text);
  // Parses "all" or a list: a single number is a list of one.
  static Share all_or_list(std::string_view text);

  bool is_all() const { return kind_ == Kind::all; }
  bool is_equal() const { return kind_ == Kind::equal; }
  bool is_count() const { return kind_ == Kind::count; }
  bool is_list() const { return kind_ == Kind::list; }
  std::uint64_t count() const { return count_; }
  // The largest number of a list; all its numbers, ascending. Call numbers() only if last() is known to be
  // small.
  std::uint64_t last() const { return ranges_.back().last; }
  std::vector<std::uint32_t> numbers() const;

 private:
  enum class Kind : std::uint8_t { all, equal, count, list };
  struct Range {
    std::uint64_t first;
    std::uint64_t last;
  };
  static Share list(std::string_view text, std::string_view forms);

  Kind kind_ = Kind::all;
  std::uint64_t count_ = 0;
  std::vector<Range> ranges_;  // ascending
};

// Parses the number of an address space, or kOwnSpace. Throws like Share.
inline constexpr std::uint32_t kOwnSpace = ~0U;
std::uint32_t space_number(std::string_view text);

}  // namespace farfault::cli
