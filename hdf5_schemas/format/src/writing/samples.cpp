// SPDX-License-Identifier: Apache-2.0
#include "samples.hpp"

#include <algorithm>

namespace farfault::results {
namespace {

constexpr std::size_t kBlock = 32;  // values compared at once

}  // namespace

void Samples::add(std::int64_t time, std::span<std::uint64_t const> values) {
  times_.push_back(time);
  if (ends_.empty()) {
    first_.assign(values.begin(), values.end());
    last_ = first_;
  } else {
    for (std::size_t i = 0; i < width_;) {
      auto const next = std::min(i + kBlock, width_);
      if (std::equal(values.data() + i, values.data() + next, last_.data() + i)) {
        i = next;
        continue;
      }
      for (; i < next; ++i) {
        if (values[i] == last_[i]) continue;
        last_[i] = values[i];
        places_.push_back(static_cast<std::uint32_t>(i));
        values_.push_back(values[i]);
      }
    }
  }
  unread_.push_back(ends_.empty() ? 0 : ends_.back());
  ends_.push_back(values_.size());
}

std::size_t Samples::bytes() const {
  return first_.size() * 8 + values_.size() * (8 + 4) + times_.size() * 24;
}

std::size_t Samples::whole_bytes() const {
  return times_.size() * width_ * 8;
}

void Samples::clear() {
  *this = Samples(width_);
}

std::vector<std::uint64_t> const& Samples::block(std::size_t offset, std::size_t width, std::size_t first,
                                                 std::size_t every) {
  auto const samples = times_.size();
  auto const chosen = samples > first ? (samples - first - 1) / every + 1 : 0;
  bool const has_last = chosen != 0 && (samples - first - 1) % every == 0;
  block_.resize((samples == 0 || has_last ? chosen : chosen + 1) * width);
  if (block_.empty()) return block_;
  auto* row = block_.data();  // of the next chosen sample
  std::copy_n(first_.data() + offset, width, row);
  for (std::size_t sample = 0; sample < samples; ++sample) {
    auto& change = unread_[sample];
    for (; change < ends_[sample] && places_[change] < offset + width; ++change)
      row[places_[change] - offset] = values_[change];
    if (sample < first || (sample - first) % every != 0 || sample + 1 == samples) continue;
    std::copy_n(row, width, row + width);
    row += width;
  }
  return block_;
}

}  // namespace farfault::results
