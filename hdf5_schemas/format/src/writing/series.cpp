// SPDX-License-Identifier: Apache-2.0
#include "series.hpp"

#include <hdf5.h>

#include <map>
#include <utility>

#include "farfault/engine/error.hpp"
#include "farfault/engine/histogram.hpp"
#include "store.hpp"
#include "units.hpp"

namespace farfault::results {
namespace {

std::size_t width_of(SeriesGroup const& group, StatInfo const& stat) {
  return group.instances.size() * (stat.kind == StatKind::histogram ? stat.bins : 1);
}

char const* name_of(StatKind kind) {
  return kind == StatKind::histogram ? "histogram" : kind == StatKind::level ? "level" : "counter";
}

// The bin scale of a histogram.
Handle write_bins(hid_t group, std::string const& name, StatInfo const& stat) {
  auto scale = write_column(group, name, bin_edges(stat.bins, stat.first_octave),
                            {"1", "Smallest value of the bin, in the histogram's bin_unit"});
  make_scale(scale, name);
  return scale;
}

}  // namespace

Series::Series(SeriesGroup const& info) : info_(info) {
  FF_CHECK(is_object_name(info.kind), "the kind of a series is not a valid name");
  for (auto const& stat : info.stats) {
    FF_CHECK(is_object_name(stat.name) && !is_coordinate(stat.name), "the name of a statistic is invalid");
    values_ += width_of(info, stat);
  }
}

void Series::make(hid_t timeseries, std::optional<std::uint64_t> total) {
  auto const group = create_group(timeseries, info_.kind, info_.stats.size() + 4);
  set_attribute(group, "description", "Statistics of every " + info_.kind + ", sampled over simulated time");
  times_.emplace(group, "time_ps", Element::i64, std::vector<hsize_t>{}, total,
                 Description{"ps", "Simulated time of the sample"});
  make_scale(times_->get(), "time_ps");
  auto const instance = write_column(group, "instance", info_.instances, {"1", "Path of the component"});
  make_scale(instance, "instance");
  std::map<std::pair<std::uint32_t, std::uint32_t>, Handle> bins;  // by their number and first octave
  ScaleTies ties;
  bool const by_application = !info_.applications.empty();
  if (by_application) {
    auto const of =
        write_column(group, "application", info_.applications, {"1", "Application of the instance"});
    ties.tie(of, {instance});
  }
  for (auto const& stat : info_.stats) {
    std::vector<hsize_t> shape{info_.instances.size()};
    std::vector<hid_t> scales{times_->get(), instance};
    bool const histogram = stat.kind == StatKind::histogram;
    if (histogram) {
      auto& scale = bins[{stat.bins, stat.first_octave}];
      if (scale.get() < 0) {
        auto const name = bins.size() == 1 ? std::string("bin") : "bin_" + std::to_string(stat.bins);
        scale = write_bins(group, name, stat);
      }
      shape.push_back(stat.bins);
      scales.push_back(scale);
    }
    RowDataset dataset(group, std::string(stat.name), Element::u64, shape, total,
                       {std::string(histogram ? "count" : stat.unit), std::string(stat.text)});
    dataset.set_attribute("kind", name_of(stat.kind));
    if (by_application) dataset.set_attribute("coordinates", "application");  // CF-1.10, 5
    if (histogram) dataset.set_attribute("bin_unit", udunits(stat.unit));
    ties.tie(dataset.get(), scales);
    metrics_.push_back(std::move(dataset));
  }
  ties.write();
}

void Series::append(hid_t timeseries, Samples& samples, std::size_t offset, bool last) {
  auto const& times = samples.times();
  auto const first = static_cast<std::size_t>(rows(samples_) * info_.every - samples_);  // stored
  std::vector<std::int64_t> stored;
  for (auto sample = first; sample < times.size(); sample += info_.every) stored.push_back(times[sample]);
  samples_ += times.size();
  bool const ends_between = !times.empty() && (samples_ - 1) % info_.every != 0;
  if (!times.empty()) latest_time_.reset();
  if (ends_between && last) stored.push_back(times.back());
  if (!times_) {
    if (times.empty() && !last) return;
    make(timeseries, last ? std::optional<std::uint64_t>(stored.size()) : std::nullopt);
  }
  if (ends_between && !last) {
    latest_time_ = times.back();
    latest_.clear();
  }
  for (std::size_t m = 0; m < metrics_.size(); ++m) {
    auto const width = width_of(info_, info_.stats[m]);
    auto const& block = samples.block(offset, width, first, info_.every);
    metrics_[m].append(stored.size(), block.data());
    if (latest_time_ && !times.empty())
      latest_.insert(latest_.end(), block.end() - static_cast<std::ptrdiff_t>(width), block.end());
    offset += width;
  }
  // Times are last, so that in the file of a killed run every time has its values.
  times_->append(stored.size(), reinterpret_cast<std::uint64_t const*>(stored.data()));
  if (last && latest_time_) append_row(*std::exchange(latest_time_, std::nullopt), latest_.data());
}

void Series::append(std::int64_t time, std::uint64_t const* values) {
  latest_time_.reset();
  if (samples_++ % info_.every == 0) return append_row(time, values);
  latest_time_ = time;
  latest_.assign(values, values + values_);
}

void Series::append_row(std::int64_t time, std::uint64_t const* values) {
  for (std::size_t m = 0; m < metrics_.size(); ++m) {
    metrics_[m].append(1, values);
    values += width(m);
  }
  auto const at = static_cast<std::uint64_t>(time);
  times_->append(1, &at);
}

std::uint64_t Series::width(std::size_t metric) const {
  return width_of(info_, info_.stats[metric]);
}

void Series::grow(hid_t timeseries, std::uint64_t samples) {
  if (!times_) make(timeseries, std::nullopt);
  samples_ = samples;
}

void Series::write_tails() {
  if (!times_) return;
  for (auto& metric : metrics_) metric.write_tail();
  times_->write_tail();
}

void Series::add_known(KnownDatasets& to) const {
  if (!times_) return;
  auto const folder = "/timeseries/" + info_.kind + "/";
  to.emplace(folder + "time_ps", times_->known());
  for (std::size_t m = 0; m < metrics_.size(); ++m)
    to.emplace(folder + std::string(info_.stats[m].name), metrics_[m].known());
}

void Series::release_replaced(CommitFile& file) {
  if (!times_) return;
  times_->release_replaced(file);
  for (auto& metric : metrics_) metric.release_replaced(file);
}

}  // namespace farfault::results
