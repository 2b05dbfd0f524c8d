// SPDX-License-Identifier: Apache-2.0
#include "explain_reading.hpp"

#include <algorithm>
#include <bit>

#include "farfault/engine/error.hpp"

namespace farfault::analysis {
namespace {

constexpr double kMaxAhead = 1.0;  // in parts of the run

}  // namespace

std::vector<std::uint64_t> words(ObjectId file, std::string const& path, std::uint64_t rows) {
  auto const dataset = open_dataset(file, path);
  auto const shape = shape_of_dataset(dataset);
  bool const counts = shape.kind == Kind::unsigned_integer || shape.kind == Kind::integer;
  if (!counts || shape.row_values != 1 || shape.rows() != rows)
    throw Hdf5Failure(path + " does not have one number per row");
  return read_words(dataset, shape, 0, rows);
}

std::optional<double> real_number(ObjectId file, std::string const& path) {
  if (!has(file, path)) return std::nullopt;
  auto const dataset = open_dataset(file, path);
  auto const shape = shape_of_dataset(dataset);
  if (shape.kind != Kind::real || shape.row_values != 1 || shape.rows() != 1)
    throw Hdf5Failure(path + " is not a single number");
  return std::bit_cast<double>(read_words(dataset, shape, 0, 1).at(0));
}

std::vector<std::string> texts(ObjectId file, std::string const& path) {
  auto const dataset = open_dataset(file, path);
  auto const shape = shape_of_dataset(dataset);
  if (shape.kind != Kind::text || shape.extents.size() != 1)
    throw Hdf5Failure(path + " is not a list of texts");
  return read_texts(dataset, shape, 0, shape.rows());
}

std::map<std::string, std::uint64_t> figures_of_machine(ObjectId file) {
  auto const folder = std::string("/summary/machine");
  if (!has(file, "summary/machine"))
    throw UserError("it has no summary yet; the run is in progress or was killed");
  std::map<std::string, std::uint64_t> figures;
  for (auto const& metric : link_names(open_group(file, folder)))
    if (metric != "name") figures[metric] = words(file, folder + "/" + metric, 1).at(0);
  return figures;
}

Growth::Growth(ObjectId file, std::string const& folder, std::string const& metric)
    : dataset_(open_dataset(file, folder + "/" + metric)), shape_(shape_of_dataset(dataset_)) {
  auto const rows = shape_of_dataset(open_dataset(file, folder + "/time_ps")).rows();
  times_ = words(file, folder + "/time_ps", rows);
  names_ = texts(file, folder + "/instance");
  if (shape_.kind != Kind::unsigned_integer || shape_.rows() != rows || shape_.row_values != names_.size())
    throw Hdf5Failure(folder + "/" + metric + " does not match its coordinates");
}

std::vector<double> Growth::rates(std::size_t instance, std::uint64_t end, std::uint64_t among) const {
  std::vector<double> rates;
  auto before = 0.0;
  auto ahead = 0.0;  // counted when the activity begins, but extends beyond this part
  for (std::uint64_t part = 1; part <= kParts; ++part) {
    auto const value = at(instance, static_cast<double>(end) * static_cast<double>(part) / kParts);
    auto const rate =
        ahead + (value - before) / (static_cast<double>(end) / kParts) / static_cast<double>(among);
    rates.push_back(std::min(rate, 1.0));
    ahead = rate - rates.back();
    before = value;
  }
  if (ahead > kMaxAhead) rates.clear();
  return rates;
}

double Growth::at(std::size_t instance, double time) const {
  auto const next = static_cast<std::size_t>(
      std::ranges::upper_bound(times_, static_cast<std::uint64_t>(time)) - times_.begin());
  auto const value = [&](std::size_t number) { return static_cast<double>(row(number).at(instance)); };
  auto const v0 = next == 0 ? 0.0 : value(next - 1);
  if (next == times_.size()) return v0;
  auto const t0 = next == 0 ? 0.0 : static_cast<double>(times_[next - 1]);
  return v0 + (value(next) - v0) * (time - t0) / (static_cast<double>(times_[next]) - t0);
}

std::optional<Growth> growth_of(ObjectId file, std::string const& series, std::string const& metric) {
  auto const folder = "timeseries/" + series;
  if (!has(file, folder + "/" + metric)) return std::nullopt;
  Growth growth(file, folder, metric);
  return growth.empty() ? std::nullopt : std::optional(std::move(growth));
}

}  // namespace farfault::analysis
