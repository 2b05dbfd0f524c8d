// SPDX-License-Identifier: Apache-2.0
#include "farfault/results/reader.hpp"

#include <hdf5.h>

#include <algorithm>
#include <set>

#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "farfault/results/reading/guard.hpp"
#include "farfault/results/reading/walk.hpp"
#include "summary_rows.hpp"

namespace farfault::results {
namespace {

std::uint64_t rows_of(hid_t file, std::string const& path) {
  return shape_of_dataset(open_dataset(file, path)).rows();
}

std::uint64_t scalar(hid_t file, std::string const& path) {
  auto const dataset = open_dataset(file, path);
  auto const shape = shape_of_dataset(dataset);
  if (!shape.extents.empty() || shape.kind == Kind::text || shape.kind == Kind::other)
    throw Hdf5Failure(path + " is not a single number");
  return read_words(dataset, shape, 0, 1).at(0);
}

// The distinct words of a column of the topology. Empty if the machine is not a cluster.
void pack_words(hid_t file, std::string const& column, Pack& pack) {
  auto const path = "/topology/nodes/" + column;
  std::set<std::string> known{""};
  if (has(file, path)) {
    auto const dataset = open_dataset(file, path);
    auto const shape = shape_of_dataset(dataset);
    if (shape.kind != Kind::text) throw Hdf5Failure(path + " is not text");
    for_pieces(shape, [&](std::uint64_t row, std::uint64_t rows) {
      for (auto const& word : read_texts(dataset, shape, row, rows)) {
        if (!known.insert(word).second) continue;
        pack.put(1);
        pack.put(word);
      }
    });
  }
  pack.put(std::uint64_t{0});
}

std::string pack_result(hid_t file) {
  check_is_result(file);
  Pack pack;
  auto const root = open_group(file, "/");
  pack.put(static_cast<std::uint64_t>(version_of(root)));
  for (auto const* name : {"farfault_version", "result_digest", "end_reason"})
    pack.put(text_attribute(root, name));
  for (auto const* name : {"commit", "host", "start_time"}) {
    auto const there = has(file, std::string("engine/") + name);
    pack.put(there ? scalar_text(file, std::string("engine/") + name) : std::string());
  }
  pack.put(scalar_text(file, "config/command_line"));
  pack.put(scalar(file, "/config/seed"));
  pack.put(rows_of(file, "/topology/nodes/node"));
  pack.put(rows_of(file, "/topology/links/link"));
  for (auto const* column : {"machine", "host", "driver"}) pack_words(file, column, pack);
  std::int64_t last = 0;
  for (auto const& kind : link_names(open_group(file, "/timeseries"))) {
    auto const folder = "/timeseries/" + kind;
    auto const times = open_dataset(file, folder + "/time_ps");
    auto const shape = shape_of_dataset(times);
    if (shape.kind != Kind::integer || shape.row_values != 1)
      throw Hdf5Failure(folder + "/time_ps is not a list of times");
    if (shape.rows() > 0)
      last = std::max(last, static_cast<std::int64_t>(read_words(times, shape, shape.rows() - 1, 1).at(0)));
    pack.put(1);
    pack.put(kind);
    pack.put(shape.rows());
    pack.put(rows_of(file, folder + "/instance"));
    for (auto const& metric : link_names(open_group(file, folder))) {
      if (is_coordinate(metric)) continue;
      pack.put(1);
      pack.put(metric);
    }
    pack.put(std::uint64_t{0});
  }
  pack.put(std::uint64_t{0});
  pack.put(static_cast<std::uint64_t>(last));
  for (auto const& table : link_names(open_group(file, "/tables"))) {
    pack.put(1);
    pack.put(table);
    pack.put(rows_of(file, "/tables/" + table + "/row"));
    for (auto const& column : link_names(open_group(file, "/tables/" + table))) {
      if (column == "row") continue;
      pack.put(1);
      pack.put(column);
    }
    pack.put(std::uint64_t{0});
  }
  pack.put(std::uint64_t{0});
  if (has(file, "summary"))
    for (auto const& scope : link_names(open_group(file, "/summary"))) pack_summary_of(file, scope, pack);
  pack.put(std::uint64_t{0});
  return pack.take();
}

template <class List, class Item>
std::string joined(List const& list, std::string const& separator, Item item) {
  std::string text;
  for (auto const& entry : list) text += (text.empty() ? "" : separator) + item(entry);
  return text;
}

// One line for a cluster, with at most eight names of hosts and of drivers.
std::string cluster_text(ResultSummary const& s) {
  if (s.machines.empty()) return {};
  auto const named = [](char const* one, std::vector<std::string> const& all) {
    constexpr std::size_t kMax = 8;
    std::string text = ", " + std::to_string(all.size()) + " " + one + (all.size() == 1 ? " (" : "s (");
    for (std::size_t i = 0; i < std::min(all.size(), kMax); ++i) text += (i == 0 ? "" : ", ") + shown(all[i]);
    return text + (all.size() > kMax ? ", ...)" : ")");
  };
  return "  cluster:  " + std::to_string(s.machines.size()) + " machines" + named("host", s.hosts) +
         named("driver", s.drivers) + "\n";
}

// "commit 037bf0c, on node7, 2026-11-26T20:42:37Z"
std::string maker_text(ResultSummary const& s) {
  std::string text;
  auto const add = [&text](char const* word, std::string const& what) {
    if (!what.empty()) text += (text.empty() ? "" : ", ") + std::string(word) + shown(what);
  };
  add("commit ", s.commit);
  add("on ", s.host);
  add("", s.start_time);
  return text.empty() ? text : "  made by:  " + text + "\n";
}

}  // namespace

bool looks_like_result(std::string const& path) {
  constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
  if (first_bytes(path, kSignature.size()) != kSignature) return false;
  try {
    check_readable(path);
    return true;
  } catch (std::exception const&) {
    return false;
  }
}

std::vector<std::uint64_t> read_engine(std::string const& path, std::string const& name) {
  Pack pack(read_guarded(path, [&](hid_t file) {
    check_is_result(file);
    if (!has(file, "engine/" + name)) throw Hdf5Failure("it has no /engine/" + name);
    auto const set = open_dataset(file, "engine/" + name);
    Handle const space(H5Dget_space(set), "a dataset has no shape");
    auto const n = check(H5Sget_simple_extent_npoints(space), "a dataset has no size");
    if (n > 10'000'000) throw Hdf5Failure("its self-profile has an impossible size");
    std::vector<std::uint64_t> values(static_cast<std::size_t>(n));
    check(H5Dread(set, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
          "a dataset cannot be read");
    Pack answer;
    answer.put(std::uint64_t{values.size()});
    for (auto const v : values) answer.put(v);
    return answer.take();
  }));
  std::vector<std::uint64_t> values(pack.number());
  for (auto& v : values) v = pack.number();
  return values;
}

ResultSummary read_summary(std::string const& path) {
  Pack pack(read_guarded(path, pack_result));
  ResultSummary s;
  s.schema_version = static_cast<std::int64_t>(pack.number());
  s.farfault_version = pack.text();
  s.result_digest = pack.text();
  s.end_reason = pack.text();
  for (auto* text : {&s.commit, &s.host, &s.start_time, &s.command_line}) *text = pack.text();
  s.seed = pack.number();
  s.nodes = pack.number();
  s.links = pack.number();
  for (auto* words : {&s.machines, &s.hosts, &s.drivers})
    while (pack.number() != 0) words->push_back(pack.text());
  while (pack.number() != 0) {
    SeriesSummary series{pack.text(), 0, 0, {}};
    series.samples = pack.number();
    series.instances = pack.number();
    while (pack.number() != 0) series.metrics.push_back(pack.text());
    s.series.push_back(std::move(series));
  }
  s.last_time_ps = static_cast<std::int64_t>(pack.number());
  while (pack.number() != 0) {
    TableSummary table{pack.text(), 0, {}};
    table.rows = pack.number();
    while (pack.number() != 0) table.columns.push_back(pack.text());
    s.tables.push_back(std::move(table));
  }
  s.summary = unpack_summary(pack);
  return s;
}

std::string to_text(ResultSummary const& s) {
  auto const same = [](std::string const& word) { return shown(word); };
  auto text =
      "result of Farfault " + shown(s.farfault_version) + ", schema " + std::to_string(s.schema_version) +
      "\n" + "  ended:    " + shown(s.end_reason) + "\n" +
      "  digest:   " + (s.result_digest.empty() ? "none: the run did not finish" : shown(s.result_digest)) +
      "\n" + maker_text(s) + "  command:  " + one_line(s.command_line.substr(0, 1000)) + "\n" +
      "  machine:  " + std::to_string(s.nodes) + " nodes, " + std::to_string(s.links) + " links\n" +
      cluster_text(s) + "  sampled:  up to " + std::to_string(s.last_time_ps) + " ps\n";
  for (auto const& series : s.series)
    text += "  timeseries/" + shown(series.kind) + ": " + std::to_string(series.samples) + " samples of " +
            std::to_string(series.instances) + " instances: " + joined(series.metrics, ", ", same) + "\n";
  for (auto const& table : s.tables)
    text += "  tables/" + shown(table.name) + ": " + std::to_string(table.rows) +
            " rows: " + joined(table.columns, ", ", same) + "\n";
  for (auto const& row : s.summary)
    if (row.scope == "machine")
      text += "  summary: " + shown(row.metric) + " = " + std::to_string(row.value) +
              (row.unit == "1" ? "" : " " + shown(row.unit)) + "\n";
  return text;
}

}  // namespace farfault::results
