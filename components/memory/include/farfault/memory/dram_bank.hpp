// SPDX-License-Identifier: Apache-2.0
// Banks of a DRAM channel: open rows, and the next time of a column command. Row-buffer timing (JEDEC): a row
// hit takes tCL, a row miss tRCD + tCL, a row conflict tRP + tRCD + tCL; a row stays open for at least tRAS.
// A refresh of all banks closes their rows.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "farfault/engine/time.hpp"

namespace farfault {

struct DramTiming {
  Duration t_cl;
  Duration t_rcd;
  Duration t_rp;
  Duration t_ras;
};

class DramBanks {
 public:
  DramBanks() = default;
  explicit DramBanks(std::uint32_t banks) : banks_(banks) {}

  bool row_open(std::uint32_t bank, std::uint64_t row) const { return banks_[bank].row == row; }
  bool idle(std::uint32_t bank) const { return banks_[bank].row == kClosed; }

  // Earliest start of the data of an access to `row` that is commanded at `now`.
  Time earliest_data(std::uint32_t bank, std::uint64_t row, Time now, DramTiming const& t) const {
    auto const& b = banks_[bank];
    auto const start = std::max(now, b.column_ready);
    if (b.row == row) return start + t.t_cl;
    if (b.row == kClosed) return start + t.t_rcd + t.t_cl;
    return std::max(start, b.activated + t.t_ras) + t.t_rp + t.t_rcd + t.t_cl;
  }
  // Records an access whose data starts at `data`.
  void access(std::uint32_t bank, std::uint64_t row, Time data, DramTiming const& t) {
    auto& b = banks_[bank];
    if (b.row != row) {
      b.row = row;
      b.activated = data - t.t_cl - t.t_rcd;
    }
    b.column_ready = data - t.t_cl;
  }

  // Refreshes all banks: closes their rows, which can be opened again at `end`.
  void refresh(Time end) {
    for (auto& b : banks_) {
      b.row = kClosed;
      b.column_ready = end;
    }
  }

  auto members() { return std::tie(banks_); }

 private:
  static constexpr std::uint64_t kClosed = std::numeric_limits<std::uint64_t>::max();
  struct Bank {
    std::uint64_t row = kClosed;
    Time activated{};
    Time column_ready{};  // earliest time of the next column command
  };
  std::vector<Bank> banks_;
};

}  // namespace farfault
