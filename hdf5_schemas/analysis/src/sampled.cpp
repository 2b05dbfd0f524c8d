// SPDX-License-Identifier: Apache-2.0
#include "sampled.hpp"

#include <algorithm>
#include <utility>

#include "columns.hpp"
#include "farfault/results/reading/walk.hpp"

namespace farfault::analysis {
namespace {

constexpr std::uint64_t kMaxValues = 4'000'000;  // of a metric, for a plot
constexpr std::uint64_t kMinPoints = 32;

}  // namespace

std::string_view device_of(std::string_view path, std::unordered_set<std::string> const& nodes) {
  for (auto end = path.size(); end != std::string_view::npos && end != 0; end = path.rfind('.', end - 1))
    if (nodes.contains(std::string(path.substr(0, end)))) return path.substr(0, end);
  return path.substr(0, path.find('.'));
}

Sampled::Sampled(ObjectId file, std::string kind, std::size_t points)
    : file_(file), folder_("timeseries/" + std::move(kind)) {
  Columns const times(file, folder_, "time_ps");
  auto const at = times.numbers("time_ps");
  samples_ = times.rows_in_file();
  instances_ = Columns(file, folder_, "instance").texts("instance");
  auto const most = std::max(kMinPoints, kMaxValues / std::max<std::uint64_t>(1, instances_.size()));
  auto const wanted = std::min<std::uint64_t>(points, most);
  if (at.empty()) return;
  auto const add = [&](std::uint64_t row) {
    // The last sample of a time is complete.
    if (at[row] == 0 || (!ends_.empty() && at[row] < ends_.back())) return;
    if (!ends_.empty() && at[row] == ends_.back()) {
      rows_.back() = row;
      return;
    }
    ends_.push_back(at[row]);
    rows_.push_back(row);
  };
  if (at.size() <= wanted) {
    for (std::uint64_t row = 0; row < at.size(); ++row) add(row);
    return;
  }
  for (std::uint64_t part = 1; part <= wanted; ++part) {
    auto const until =
        static_cast<double>(at.back()) * static_cast<double>(part) / static_cast<double>(wanted);
    auto const next = std::ranges::upper_bound(at, until, std::less<double>()) - at.begin();
    if (next > 0) add(static_cast<std::uint64_t>(next - 1));
  }
  add(at.size() - 1);
}

std::vector<std::string> Sampled::metrics() const {
  std::vector<std::string> all;
  for (auto const& name : link_names(open_group(file_, folder_)))
    if (name != "time_ps" && name != "instance" && name != "application" && !name.starts_with("bin") &&
        has(name))
      all.push_back(name);
  return all;
}

bool Sampled::has(std::string const& metric) const {
  if (!results::has(open_group(file_, folder_), metric)) return false;
  auto const shape = shape_of_dataset(open_dataset(file_, folder_ + "/" + metric));
  return shape.kind == Kind::unsigned_integer && shape.extents.size() == 2 && shape.rows() == samples_ &&
         shape.row_values == instances_.size();
}

Sampled::Metric Sampled::describe(std::string const& metric) const {
  auto const dataset = open_dataset(file_, folder_ + "/" + metric);
  return {text_attribute(dataset, "kind") == "counter", text_attribute(dataset, "units"),
          text_attribute(dataset, "long_name")};
}

std::vector<std::vector<double>> Sampled::grouped(std::string const& metric,
                                                  std::vector<std::size_t> const& group,
                                                  std::size_t groups) const {
  auto const dataset = open_dataset(file_, folder_ + "/" + metric);
  auto const shape = shape_of_dataset(dataset);
  std::vector<std::vector<double>> all(groups, std::vector<double>(ends_.size(), 0.0));
  bool const counter = text_attribute(dataset, "kind") == "counter";
  bool const at_once = samples_ * instances_.size() <= kMaxValues;
  std::vector<std::uint64_t> whole;
  if (at_once) whole = read_words(dataset, shape, 0, samples_);
  std::vector<std::uint64_t> before(instances_.size(), 0);
  for (std::size_t interval = 0; interval < rows_.size(); ++interval) {
    auto const one = at_once ? std::vector<std::uint64_t>() : read_words(dataset, shape, rows_[interval], 1);
    auto const* const row = at_once ? whole.data() + rows_[interval] * instances_.size() : one.data();
    for (std::size_t i = 0; i < instances_.size(); ++i) {
      auto const value = counter ? row[i] - std::min(before[i], row[i]) : row[i];
      all[group[i]][interval] += static_cast<double>(value);
      before[i] = row[i];
    }
  }
  return all;
}

}  // namespace farfault::analysis
