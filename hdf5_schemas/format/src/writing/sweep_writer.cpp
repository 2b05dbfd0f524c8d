// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <set>
#include <type_traits>

#include "farfault/engine/files.hpp"
#include "farfault/results/reading/open.hpp"
#include "farfault/results/sweep.hpp"
#include "file/commit_file.hpp"
#include "file/new_file.hpp"
#include "layout.hpp"
#include "store.hpp"
#include "writer_impl.hpp"

namespace farfault::results {
namespace {

std::size_t length_of(SweepColumn const& column) {
  return std::visit([](auto const& values) { return values.size(); }, column.values);
}

void write_columns(ObjectId file, std::string const& name, std::string const& dimension,
                   std::vector<SweepColumn> const& columns, std::string const& what) {
  auto const group = create_group(file, name, columns.size() + 1);
  std::vector<std::uint64_t> numbers(length_of(columns.at(0)));
  std::iota(numbers.begin(), numbers.end(), std::uint64_t{0});
  auto const scale = write_column(group, dimension, numbers, {"index", what});
  make_scale(scale, dimension);
  ScaleTies ties;
  std::set<std::string> names{dimension};
  for (auto const& column : columns) {
    FF_CHECK(is_object_name(column.name) && names.insert(column.name).second,
             "the name of a sweep column is invalid or repeated");
    FF_CHECK(length_of(column) == numbers.size(), "a sweep column has the wrong length");
    std::visit(
        [&]<class Value>(std::vector<Value> const& values) {
          auto const dataset = write_column(group, column.name, values, {"1", column.text});
          set_attribute(dataset, "units", column.unit);
          if (!column.role.empty()) set_attribute(dataset, "role", column.role);
          if (!column.varies_with.empty()) set_attribute(dataset, "varies_with", column.varies_with);
          if constexpr (std::is_same_v<Value, std::uint64_t>)
            if (std::find(values.begin(), values.end(), kNoFigure) != values.end())
              set_attribute(dataset, "_FillValue", kNoFigure);
          ties.tie(dataset, {scale});
        },
        column.values);
  }
  ties.write();
}

constexpr char const* kSweepComment =
    "Groups: runs (a row per run: state, result file, varied parameters and figures of the whole machine), "
    "spread (a row per point, over its seeds), means (geometric means of the ratios to the baseline). "
    "Simulated "
    "times are in ps. The layout is described in the handbook, reference/sweep-table.";

// "Farfault sweep: 12 runs, memory.placement and run.seed vary"
std::string title_of(SweepTable const& table) {
  constexpr std::size_t kMax = 4;
  std::vector<std::string> keys;
  for (auto const& column : table.runs)
    if (column.name == "name" || (column.role == "parameter" && column.varies_with.empty()))
      keys.push_back(column.name);
  auto const all = keys.size();
  if (all > kMax) keys[kMax - 1] = std::to_string(all - kMax + 1) + " more keys";
  std::string text;
  for (std::size_t i = 0; i < std::min(all, kMax); ++i)
    text += (i == 0 ? ", " : i + 1 == std::min(all, kMax) ? " and " : ", ") + keys[i];
  auto const runs = length_of(table.runs.at(0));
  return "Farfault sweep: " + std::to_string(runs) + (runs == 1 ? " run" : " runs") + text +
         (all == 0   ? ""
          : all == 1 ? " varies"
                     : " vary");
}

void write_table(ObjectId hdf5, SweepTable const& table) {
  auto const root = open_group(hdf5, "/");
  set_attribute(root, "Conventions", std::string("CF-1.10"));
  set_attribute(root, "title", title_of(table));
  set_attribute(root, "comment", std::string(kSweepComment));
  set_attribute(root, "farfault_version", std::string(FARFAULT_VERSION));
  set_attribute(root, "schema_version", kSchemaVersion);
  set_attribute(root, "kind", std::string("sweep"));
  if (!table.baseline.empty()) set_attribute(root, "baseline", table.baseline);
  if (!table.mean_over.empty()) set_attribute(root, "mean_over", table.mean_over);
  write_columns(hdf5, "runs", "run", table.runs, "Index of the run, in the order of the study");
  if (!table.spread.empty())
    write_columns(hdf5, "spread", "point", table.spread,
                  "Index of the point; its runs differ only in their seeds");
  if (!table.means.empty())
    write_columns(hdf5, "means", "group", table.means,
                  "Index of the group; its runs differ only in the dimension of the mean and in their seeds");
}

}  // namespace

void write_sweep(std::string const& path, SweepTable const& table) {
  check_replaceable(path);
  refuse_unreplaceable_sweep(path);
  auto const partial = path + ".partial";
  CommitFile file((quiet(), partial));
  std::string problem;
  try {
    auto hdf5 = create_file(file, partial);
    write_table(hdf5, table);
    close_file(hdf5);
    if (!file.failed()) {
      file.commit();
      return file.rename_to(path);
    }
  } catch (Hdf5Failure const& failure) {
    problem = std::string("cannot write '") + partial + "': " + failure.what();
  } catch (RunError const& failure) {
    problem = failure.what();
  }
  std::remove(partial.c_str());
  throw RunError((file.failed() ? file.failure() : problem) + "; nothing was written to '" + path + "'");
}

}  // namespace farfault::results
