// SPDX-License-Identifier: Apache-2.0
// The statistics of one kind of component over simulated time: the group /timeseries/<kind>.
//
// Samples are numbered over the whole run, from 0. The file has every multiple of SeriesGroup::every,
// and the last one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "farfault/engine/probes.hpp"
#include "reading/digest_of.hpp"
#include "rows.hpp"
#include "samples.hpp"

namespace farfault::results {

class Series {
 public:
  explicit Series(SeriesGroup const& info);

  std::size_t values_per_sample() const { return values_; }
  SeriesGroup const& info() const { return info_; }

  // Appends the part of `samples` that begins at `offset`. `last`: no more samples follow. The file has the
  // group from the first samples on.
  void append(ObjectId timeseries, Samples& samples, std::size_t offset, bool last);
  // Appends a sample, whose part begins at `values`. The file has the group.
  void append(std::int64_t time, std::uint64_t const* values);

  // The same by column, for a run that resumes after a number of samples: `rows(samples)` rows each; the
  // times are last.
  void grow(ObjectId timeseries, std::uint64_t samples);
  std::uint64_t rows(std::uint64_t samples) const { return (samples + info_.every - 1) / info_.every; }
  std::uint64_t width(std::size_t metric) const;
  RowDataset& metric(std::size_t number) { return metrics_[number]; }
  RowDataset& times() { return *times_; }

  bool is_in_file() const { return times_.has_value(); }
  void write_tails();  // the rows waiting for a complete chunk
  void release_replaced(CommitFile& file);
  void add_known(KnownDatasets& to) const;

 private:
  void make(ObjectId timeseries, std::optional<std::uint64_t> total);
  void append_row(std::int64_t time, std::uint64_t const* values);

  SeriesGroup info_;
  std::size_t values_ = 0;
  std::uint64_t samples_ = 0;        // appended
  std::optional<RowDataset> times_;  // empty until the file has the group
  std::vector<RowDataset> metrics_;
  // The latest sample, if it is not stored.
  std::optional<std::int64_t> latest_time_;
  std::vector<std::uint64_t> latest_;
};

}  // namespace farfault::results
