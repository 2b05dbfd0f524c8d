// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "digest_of.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/results/reader.hpp"
#include "farfault/results/reading/guard.hpp"
#include "farfault/results/reading/settings.hpp"
#include "farfault/results/reading/walk.hpp"

namespace farfault::results {
namespace {

// A dataset of the same path in both files, opened in both.
struct Pair {
  Handle a, b;
  Shape shape_a, shape_b;
};

class Comparer {
 public:
  Comparer(ObjectId a, ObjectId b, std::string name_a, std::string name_b)
      : a_(a), b_(b), name_a_(std::move(name_a)), name_b_(std::move(name_b)) {}

  Comparison run() {
    check_is_result(b_);
    Comparison comparison;
    if (digest_of(a_) == digest_of(b_)) return comparison;
    comparison.settings = setting_differences(a_, b_);
    for (auto const& kind : children("/timeseries", "timeseries")) series("/timeseries/" + kind);
    for (auto const& table : children("/tables", "tables")) rows("tables", "/tables/" + table, "row");
    if (!timed_ && !untimed_) summary();
    if (!timed_ && !untimed_) end_reason();
    for (auto const& [folder, index] :
         {std::pair("/topology/nodes", "node"), std::pair("/topology/links", "link")})
      if (!timed_ && !untimed_) rows("topology", folder, index);
    if (!timed_ && !untimed_ && comparison.settings.empty())
      found({"attributes", "/", std::nullopt, "only names, units or descriptions differ"});
    comparison.difference = timed_ ? timed_ : untimed_;
    return comparison;
  }

 private:
  void found(Difference difference) {
    if (!difference.time_ps) {
      if (!untimed_) untimed_ = std::move(difference);
    } else if (!timed_ || *difference.time_ps < *timed_->time_ps) {
      timed_ = std::move(difference);
    }
  }

  // Members of a group in both files. A member of only one of them is a difference.
  std::vector<std::string> children(std::string const& path, std::string const& where) {
    std::vector<std::string> names[2];
    for (int side = 0; side < 2; ++side) {
      auto const file = side == 0 ? a_ : b_;
      if (!has(file, path)) continue;
      auto const group = open_group(file, path);
      names[side] = link_names(group);
    }
    std::vector<std::string> both, one;
    std::set_intersection(names[0].begin(), names[0].end(), names[1].begin(), names[1].end(),
                          std::back_inserter(both));
    std::set_symmetric_difference(names[0].begin(), names[0].end(), names[1].begin(), names[1].end(),
                                  std::back_inserter(one));
    for (auto const& name : one) {
      auto const child = path == "/" ? path + name : path + "/" + name;
      found({where, child, std::nullopt,
             "only '" + one_line(has(a_, child) ? name_a_ : name_b_) + "' has " + shown(child)});
    }
    return both;
  }

  Pair open(std::string const& path) const {
    Pair pair{open_dataset(a_, path), open_dataset(b_, path), {}, {}};
    pair.shape_a = shape_of_dataset(pair.a);
    pair.shape_b = shape_of_dataset(pair.b);
    return pair;
  }

  static std::string number(Kind kind, std::uint64_t word) {
    if (kind == Kind::integer) return std::to_string(static_cast<std::int64_t>(word));
    if (kind == Kind::real) return std::to_string(std::bit_cast<double>(word));
    return std::to_string(word);
  }

  struct Place {
    std::uint64_t row;
    std::uint64_t column;
    std::string value_a, value_b;
  };

  // The first differing value in the rows that both have.
  static std::optional<Place> first_difference(Pair const& pair, std::uint64_t limit) {
    auto shape = pair.shape_a;
    if (!shape.extents.empty())
      shape.extents[0] = std::min({limit, pair.shape_a.rows(), pair.shape_b.rows()});
    std::optional<Place> place;
    for_pieces(shape, [&](std::uint64_t row, std::uint64_t n) {
      if (place || shape.kind == Kind::other) return;
      auto const compare = [&](auto const& left, auto const& right, auto const& show) {
        auto const [l, r] = std::mismatch(left.begin(), left.end(), right.begin());
        if (l == left.end()) return;
        auto const at = static_cast<std::uint64_t>(l - left.begin());
        place = Place{row + at / shape.row_values, at % shape.row_values, show(*l), show(*r)};
      };
      if (shape.kind == Kind::text) {
        compare(read_texts(pair.a, pair.shape_a, row, n), read_texts(pair.b, pair.shape_b, row, n),
                [](std::string const& text) { return "'" + shown(text) + "'"; });
      } else {
        compare(read_words(pair.a, pair.shape_a, row, n), read_words(pair.b, pair.shape_b, row, n),
                [&](std::uint64_t word) { return number(shape.kind, word); });
      }
    });
    return place;
  }

  static bool alike(Pair const& pair) {
    return pair.shape_a.kind == pair.shape_b.kind &&
           pair.shape_a.extents.size() == pair.shape_b.extents.size() &&
           pair.shape_a.row_values == pair.shape_b.row_values;
  }

  static std::int64_t time_at(ObjectId times, Shape const& shape, std::uint64_t row) {
    return static_cast<std::int64_t>(read_words(times, shape, row, 1).at(0));
  }

  std::string text_at(ObjectId file, std::string const& path, std::uint64_t row) const {
    auto const dataset = open_dataset(file, path);
    auto const shape = shape_of_dataset(dataset);
    if (shape.kind != Kind::text || row >= shape.rows()) return "?";
    return shown(read_texts(dataset, shape, row, 1).at(0));
  }

  std::string verdict(std::string const& value_a, std::string const& value_b) const {
    return value_a + " in '" + one_line(name_a_) + "' and " + value_b + " in '" + one_line(name_b_) + "'";
  }

  void series(std::string const& folder) {
    auto const members = children(folder, "timeseries");
    auto const times = open(folder + "/time_ps");
    if (!alike(times) || times.shape_a.kind != Kind::integer || times.shape_a.row_values != 1)
      throw Hdf5Failure(folder + "/time_ps is not a list of times");
    auto const instances = open(folder + "/instance");
    if (instances.shape_a.rows() != instances.shape_b.rows() || first_difference(instances, UINT64_MAX)) {
      found(
          {"timeseries", folder + "/instance", std::nullopt,
           "the instances of " + folder + " differ: " +
               verdict(std::to_string(instances.shape_a.rows()), std::to_string(instances.shape_b.rows()))});
      return;
    }
    auto const rows_a = times.shape_a.rows(), rows_b = times.shape_b.rows();
    auto limit = std::min(rows_a, rows_b);
    if (auto const place = first_difference(times, limit)) {
      limit = place->row;
      auto const time =
          std::min(time_at(times.a, times.shape_a, limit), time_at(times.b, times.shape_b, limit));
      found({"timeseries", folder + "/time_ps", time,
             "sample " + std::to_string(limit) + " of " + folder + " has time " +
                 verdict(place->value_a, place->value_b) + " (ps)"});
    } else if (rows_a != rows_b) {
      auto const time =
          rows_a > rows_b ? time_at(times.a, times.shape_a, limit) : time_at(times.b, times.shape_b, limit);
      found({"timeseries", folder + "/time_ps", time,
             folder + " has " +
                 verdict(std::to_string(rows_a) + " samples", std::to_string(rows_b) + " samples") +
                 ", the first extra one at " + std::to_string(time) + " ps"});
    }
    for (auto const& name : members) {
      if (is_coordinate(name)) continue;
      auto const path = folder + "/" + name;
      auto const pair = open(path);
      if (!alike(pair) || pair.shape_a.extents.size() < 2) {
        found({"timeseries", path, std::nullopt, path + " has different shapes in the two files"});
        continue;
      }
      auto const place = first_difference(pair, limit);
      if (!place) continue;
      auto const time = time_at(times.a, times.shape_a, place->row);
      auto const bins =
          pair.shape_a.extents.size() > 2 ? std::max<std::uint64_t>(pair.shape_a.extents[2], 1) : 1;
      auto text = path + " of " + text_at(a_, folder + "/instance", place->column / bins) + " at " +
                  std::to_string(time) + " ps";
      if (bins > 1) text += ", bin " + std::to_string(place->column % bins) + ",";
      found({"timeseries", path, time, text + " is " + verdict(place->value_a, place->value_b)});
      limit = std::min(limit, place->row + 1);  // a later difference in this group is not the first
    }
  }

  // The column with the time of a row: the first with unit ps and a name that contains time or start,
  // otherwise the first with unit ps. Durations (time_in_<stage>, <cause>_time) do not count.
  std::optional<std::string> time_column(std::string const& folder,
                                         std::vector<std::string> const& columns) const {
    std::optional<std::string> best;
    for (auto const& name : columns) {
      auto const dataset = open_dataset(a_, folder + "/" + name);
      if (text_attribute(dataset, "units") != "ps") continue;
      if (name.starts_with("time_in_") || name.ends_with("_time")) continue;
      auto const telling = name.find("time") != std::string::npos || name.find("start") != std::string::npos;
      if (telling) return name;
      if (!best) best = name;
    }
    return best;
  }

  void rows(std::string const& where, std::string const& folder, std::string const& index) {
    auto const columns = children(folder, where);
    std::optional<std::string> path;
    std::optional<Place> first;
    for (auto const& name : columns) {
      auto const pair = open(folder + "/" + name);
      if (!alike(pair) || pair.shape_a.extents.size() != 1) {
        found({where, folder + "/" + name, std::nullopt,
               folder + "/" + name + " has different shapes in the two files"});
        return;
      }
      auto const place = first_difference(pair, first ? first->row : UINT64_MAX);
      if (!place) continue;
      first = place;
      path = folder + "/" + name;
    }
    auto const count = open(folder + "/" + index);
    auto const rows_a = count.shape_a.rows(), rows_b = count.shape_b.rows();
    if (!first && rows_a == rows_b) return;
    auto const row = first ? first->row : std::min(rows_a, rows_b);
    auto const text =
        first
            ? *path + ", row " + std::to_string(row) + ", is " + verdict(first->value_a, first->value_b)
            : folder + " has " + verdict(std::to_string(rows_a) + " rows", std::to_string(rows_b) + " rows");
    std::optional<std::int64_t> time;
    if (auto const column = time_column(folder, columns)) {
      auto const times = open(folder + "/" + *column);
      if (row < times.shape_a.rows()) time = time_at(times.a, times.shape_a, row);
      if (row < times.shape_b.rows()) {
        auto const other = time_at(times.b, times.shape_b, row);
        time = time ? std::min(*time, other) : other;
      }
    }
    found({where, path.value_or(folder), time, text + (time ? ", at " + std::to_string(*time) + " ps" : "")});
  }

  void summary() {
    for (auto const& scope : children("/summary", "summary")) {
      auto const folder = "/summary/" + scope;
      for (auto const& metric : children(folder, "summary")) {
        auto const pair = open(folder + "/" + metric);
        auto const path = folder + "/" + metric;
        if (!alike(pair) || pair.shape_a.rows() != pair.shape_b.rows()) {
          found({"summary", path, std::nullopt, path + " has different shapes in the two files"});
        } else if (auto const place = first_difference(pair, UINT64_MAX)) {
          found({"summary", path, std::nullopt,
                 path + " of " + text_at(a_, folder + "/name", place->row) + " is " +
                     verdict(place->value_a, place->value_b)});
        }
      }
    }
  }

  void end_reason() {
    std::string reasons[2];
    for (int side = 0; side < 2; ++side) {
      auto const root = open_group(side == 0 ? a_ : b_, "/");
      reasons[side] = text_attribute(root, "end_reason");
    }
    if (reasons[0] != reasons[1])
      found({"attributes", "/", std::nullopt,
             "the runs ended for different reasons: " +
                 verdict("'" + shown(reasons[0]) + "'", "'" + shown(reasons[1]) + "'")});
  }

  ObjectId a_, b_;
  std::string name_a_, name_b_;
  std::optional<Difference> timed_, untimed_;
};

}  // namespace

Comparison diff(std::string const& a, std::string const& b) {
  check_readable(a);
  check_readable(b);
  Pack pack(read_guarded(
      a,
      [&](ObjectId file_a) {
        auto const file_b = open_to_read(b, "cannot open the other file");
        auto const comparison = Comparer(file_a, file_b, a, b).run();
        Pack answer;
        answer.put(comparison.settings.size());
        for (auto const& setting : comparison.settings)
          for (auto const* field : {&setting.name, &setting.a, &setting.b}) answer.put(shown(*field));
        answer.put(comparison.difference.has_value());
        if (auto const& difference = comparison.difference) {
          answer.put(difference->where);
          answer.put(one_line(difference->path));
          answer.put(one_line(difference->text));
          answer.put(difference->time_ps.has_value());
          answer.put(static_cast<std::uint64_t>(difference->time_ps.value_or(0)));
        }
        return answer.take();
      },
      b));
  Comparison comparison;
  for (auto left = pack.number(); left > 0; --left) {
    SettingDifference setting;
    for (auto* field : {&setting.name, &setting.a, &setting.b}) *field = pack.text();
    comparison.settings.push_back(std::move(setting));
  }
  if (pack.number() == 0) return comparison;
  auto& difference = comparison.difference.emplace();
  difference.where = pack.text();
  difference.path = pack.text();
  difference.text = pack.text();
  bool const timed = pack.number() != 0;
  auto const time = static_cast<std::int64_t>(pack.number());
  if (timed) difference.time_ps = time;
  return comparison;
}

}  // namespace farfault::results
