// SPDX-License-Identifier: Apache-2.0
// Private: what a child process reports to its parent, in shared memory, which works even on a full disk.
//
// The child writes, the parent reads at any time. A sentence is truncated after 1,000 bytes, and is complete
// only after the child has ended.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <utility>

#include "farfault/cli/run_options.hpp"

namespace farfault::cli {

class ChildReport {
 public:
  // Throws RunError if it cannot be allocated.
  ChildReport();
  ChildReport(ChildReport&& other) noexcept : page_(std::exchange(other.page_, nullptr)) {}
  ChildReport& operator=(ChildReport&&) = delete;
  ~ChildReport();

  void record(std::string const& sentence) const;  // replaces the earlier one
  std::string sentence() const;
  void record(RunShare share) const;
  RunShare share() const;

 private:
  static constexpr std::size_t kBytes = 1000;
  struct Page {
    std::atomic<double> before{0}, now{0};
    char text[kBytes + 1] = {};
  };
  static_assert(std::atomic<double>::is_always_lock_free);  // works between processes
  Page* page_;
};

}  // namespace farfault::cli
