// SPDX-License-Identifier: Apache-2.0
// Samples in memory: the first one whole, the others as the values that changed. With frequent samples, few
// values change from one to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace farfault::results {

class Samples {
 public:
  // `width`: values per sample.
  explicit Samples(std::size_t width) : width_(width) {}

  void add(std::int64_t time, std::span<std::uint64_t const> values);  // `width` values
  std::vector<std::int64_t> const& times() const { return times_; }
  std::size_t bytes() const;        // in memory
  std::size_t whole_bytes() const;  // of all samples, each whole
  void clear();

  // The values at [offset, offset + width) of the samples number `first`, first + every, and so on, sample by
  // sample; then the values of the last sample, unless it is one of them. Call it for successive ranges.
  // The result is valid until the next call.
  std::vector<std::uint64_t> const& block(std::size_t offset, std::size_t width, std::size_t first = 0,
                                          std::size_t every = 1);

 private:
  std::size_t width_;
  std::vector<std::int64_t> times_;
  std::vector<std::uint64_t> first_, last_;  // samples
  // The changes of all samples but the first, with ascending places in each sample.
  std::vector<std::uint32_t> places_;
  std::vector<std::uint64_t> values_;
  std::vector<std::size_t> ends_;    // by sample: the end of its changes; 0 for the first
  std::vector<std::size_t> unread_;  // by sample: its first change that no block has had
  std::vector<std::uint64_t> block_;
};

}  // namespace farfault::results
