// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "farfault/analysis/sweep_axes.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/units.hpp"

namespace farfault::analysis {
namespace {

using results::SweepColumn;

// A number, or a quantity in its base unit.
struct Measure {
  int kind = 0;
  std::uint64_t units = 0;  // exact, of a quantity
  double size = 0;
  bool operator==(Measure const&) const = default;
};

template <class Parse, class Units>
std::optional<Measure> quantity(std::string const& text, int kind, Parse parse, Units units) {
  try {
    auto const n = units(parse(text));
    return Measure{kind, n, static_cast<double>(n)};
  } catch (UnitError const&) {
    return std::nullopt;
  }
}

std::optional<Measure> measure_of(std::string const& text) {
  if (text.empty()) return std::nullopt;
  double number = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size() && std::isfinite(number))
    return Measure{0, 0, number};
  if (auto m = quantity(text, 1, parse_bytes, [](ByteSize b) { return b.bytes; })) return m;
  if (auto m = quantity(text, 2, parse_duration,
                        [](Duration d) { return static_cast<std::uint64_t>(picoseconds(d)); }))
    return m;
  if (auto m = quantity(text, 3, parse_bandwidth, [](Bandwidth b) { return b.bytes_per_second; })) return m;
  return quantity(text, 4, parse_frequency, [](Frequency f) { return f.hertz; });
}

// Sizes of the values; empty unless all are of one kind.
std::vector<double> sizes_of(std::vector<std::string> const& values) {
  std::vector<double> sizes;
  std::optional<int> kind;
  for (auto const& value : values) {
    auto const measure = measure_of(value);
    if (!measure || (kind && *kind != measure->kind)) return {};
    kind = measure->kind;
    sizes.push_back(measure->size);
  }
  return sizes;
}

void sort_by_size(SweepAxis& axis) {
  std::vector<std::size_t> order(axis.values.size()), place(axis.values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return axis.sizes[i]; });
  std::vector<std::string> values;
  std::vector<double> sizes;
  for (auto const i : order) {
    place[i] = values.size();
    values.push_back(std::move(axis.values[i]));
    sizes.push_back(axis.sizes[i]);
  }
  axis.values = std::move(values);
  axis.sizes = std::move(sizes);
  for (auto& value : axis.of_run) value = place[value];
}

bool is_dimension(SweepColumn const& column) {
  return column.role == "parameter" || column.name == kSweepName;
}

// Groups of runs, refined by one axis after another.
class Groups {
 public:
  explicit Groups(std::size_t runs) : of_run_(runs, 0) {}

  // True if all runs of each group have one value of the axis.
  bool imply(SweepAxis const& axis) const {
    std::vector<std::optional<std::size_t>> values(number_);
    for (std::size_t run = 0; run < of_run_.size(); ++run) {
      auto& value = values[of_run_[run]];
      if (value && *value != axis.of_run[run]) return false;
      value = axis.of_run[run];
    }
    return true;
  }
  void split_by(SweepAxis const& axis) {
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> numbers;
    for (std::size_t run = 0; run < of_run_.size(); ++run)
      of_run_[run] = numbers.try_emplace({of_run_[run], axis.of_run[run]}, numbers.size()).first->second;
    number_ = std::max<std::size_t>(numbers.size(), 1);
  }

 private:
  std::vector<std::size_t> of_run_;
  std::size_t number_ = 1;
};

}  // namespace

SweepColumn const* find_column(std::vector<SweepColumn> const& columns, std::string_view name) {
  auto const found = std::ranges::find(columns, name, &SweepColumn::name);
  return found == columns.end() ? nullptr : &*found;
}

std::size_t rows_of(std::vector<SweepColumn> const& columns) {
  if (columns.empty()) return 0;
  return std::visit([](auto const& values) { return values.size(); }, columns[0].values);
}

std::string cell_text(SweepColumn const& column, std::size_t row) {
  if (auto const* texts = std::get_if<std::vector<std::string>>(&column.values)) return texts->at(row);
  if (auto const* counts = std::get_if<std::vector<std::uint64_t>>(&column.values))
    return counts->at(row) == results::kNoFigure ? std::string() : std::to_string(counts->at(row));
  auto const number = std::get<std::vector<double>>(column.values).at(row);
  if (std::isnan(number)) return {};
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

bool is_same_value(std::string const& a, std::string const& b) {
  if (a == b) return true;
  auto const of_a = measure_of(a);
  return of_a && of_a == measure_of(b);
}

SweepAxis sweep_axis(SweepColumn const& column) {
  SweepAxis axis{column.name, {}, {}, {}};
  std::unordered_map<std::string, std::size_t> known;
  auto const rows = std::visit([](auto const& values) { return values.size(); }, column.values);
  for (std::size_t run = 0; run < rows; ++run) {
    auto const [at, is_new] = known.try_emplace(cell_text(column, run), axis.values.size());
    if (is_new) axis.values.push_back(at->first);
    axis.of_run.push_back(at->second);
  }
  axis.sizes = sizes_of(axis.values);
  if (!axis.sizes.empty()) sort_by_size(axis);
  return axis;
}

std::vector<std::string> sweep_keys(results::SweepTable const& table) {
  std::vector<std::string> keys;
  for (auto const& column : table.runs)
    if (is_dimension(column)) keys.push_back(column.name);
  return keys;
}

void check_sweep_key(results::SweepTable const& table, std::string const& key, std::string const& option) {
  auto const keys = sweep_keys(table);
  if (std::ranges::find(keys, key) != keys.end()) return;
  std::string listed;
  for (auto const& column : table.runs)
    if (is_dimension(column) && column.varies_with.empty())
      listed += (listed.empty() ? "" : ", ") + shown(column.name);
  auto const near = nearest_name(key, keys);
  throw UserError(option + " '" + shown(key) + "' does not vary in this study; " +
                  (near.empty() ? "its dimensions are: " + listed : "did you mean '" + shown(near) + "'?"));
}

SweepAxes sweep_axes(results::SweepTable const& table, std::vector<std::string> const& asked) {
  SweepAxes axes;
  Groups groups(rows_of(table.runs));
  bool by_key = find_column(table.runs, kSweepName) == nullptr;
  for (auto const& key : asked) {
    auto const* const column = find_column(table.runs, key);
    FF_CHECK(column != nullptr, "a key that the sweep does not vary");
    by_key = by_key || !column->varies_with.empty();
    groups.split_by(axes.asked.emplace_back(sweep_axis(*column)));
  }
  // Keys that only some runs have follow from the other keys, if possible.
  std::vector<SweepAxis> everywhere, partial;
  for (auto const& column : table.runs) {
    bool const replaced = by_key ? column.name == kSweepName : !column.varies_with.empty();
    if (!is_dimension(column) || replaced || std::ranges::find(asked, column.name) != asked.end()) continue;
    auto axis = sweep_axis(column);
    if (column.name == kSweepSeed)
      axes.seed = std::move(axis);
    else if (std::ranges::find(axis.values, std::string()) == axis.values.end())
      everywhere.push_back(std::move(axis));
    else
      partial.push_back(std::move(axis));
  }
  for (auto* const list : {&everywhere, &partial})
    for (auto& axis : *list) {
      if (groups.imply(axis)) continue;
      groups.split_by(axis);
      axes.others.push_back(std::move(axis));
    }
  return axes;
}

}  // namespace farfault::analysis
