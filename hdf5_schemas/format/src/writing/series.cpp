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
    set_attribute(dataset.get(), "kind", std::string(name_of(stat.kind)));
    if (by_application) set_attribute(dataset.get(), "coordinates", "application");  // CF-1.10, 5
    if (histogram) set_attribute(dataset.get(), "bin_unit", udunits(stat.unit));
    ties.tie(dataset.get(), scales);
    metrics_.push_back(std::move(dataset));
  }
  ties.write();
}

void Series::append(hid_t timeseries, Samples& samples, std::size_t offset, bool last) {
  auto const rows = samples.times().size();
  if (!times_) {
    if (rows == 0 && !last) return;
    make(timeseries, last ? std::optional<std::uint64_t>(rows) : std::nullopt);
  }
  for (std::size_t m = 0; m < metrics_.size(); ++m) {
    auto const width = width_of(info_, info_.stats[m]);
    metrics_[m].append(rows, samples.block(offset, width).data());
    offset += width;
  }
  // Times are last, so that in the file of a killed run every time has its values.
  times_->append(rows, reinterpret_cast<std::uint64_t const*>(samples.times().data()));
}

void Series::append(std::int64_t time, std::uint64_t const* values) {
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

void Series::grow(hid_t timeseries) {
  if (!times_) make(timeseries, std::nullopt);
}

void Series::write_tails() {
  if (!times_) return;
  for (auto& metric : metrics_) metric.write_tail();
  times_->write_tail();
}

void Series::add_hashes(KnownHashes& to) const {
  if (!times_) return;
  auto const folder = "/timeseries/" + info_.kind + "/";
  to.emplace(folder + "time_ps", times_->hash()->value());
  for (std::size_t m = 0; m < metrics_.size(); ++m)
    to.emplace(folder + std::string(info_.stats[m].name), metrics_[m].hash()->value());
}

void Series::release_replaced(CommitFile& file) {
  if (!times_) return;
  times_->release_replaced(file);
  for (auto& metric : metrics_) metric.release_replaced(file);
}

}  // namespace farfault::results
