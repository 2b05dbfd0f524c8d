// SPDX-License-Identifier: Apache-2.0
#include <hdf5.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <tuple>

#include "config_text.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/results/reading/guard.hpp"
#include "farfault/results/reading/walk.hpp"
#include "farfault/results/sweep.hpp"
#include "summary_rows.hpp"

namespace farfault::results {
namespace {

std::vector<std::string> run_texts(hid_t parent, std::string const& name) {
  auto const dataset = open_dataset(parent, name);
  auto const shape = shape_of_dataset(dataset);
  if (shape.kind != Kind::text || shape.row_values != 1) throw Hdf5Failure(name + " is not text");
  return read_texts(dataset, shape, 0, shape.rows());
}

std::string text_if_there(hid_t file, std::string const& path) {
  return has(file, path) ? run_texts(file, path).at(0) : std::string();
}

// 0 if it is missing.
std::uint64_t word_if_there(hid_t file, std::string const& path, Kind kind) {
  if (!has(file, path)) return 0;
  auto const dataset = open_dataset(file, path);
  auto const shape = shape_of_dataset(dataset);
  if (shape.kind != kind || shape.rows() != 1 || shape.row_values != 1)
    throw Hdf5Failure(path + " is not a number");
  return read_words(dataset, shape, 0, 1).at(0);
}

Handle sweep_root(hid_t file) {
  auto root = open_group(file, "/");
  if (text_attribute(root, "kind") != "sweep" || H5Aexists(root, "schema_version") <= 0)
    throw Hdf5Failure("it is not the table of a sweep");
  return root;
}

std::string pack_sweep(hid_t file) {
  auto const root = sweep_root(file);
  check_schema(root);
  Pack pack;
  pack.put(static_cast<std::uint64_t>(version_of(root)));
  pack.put(text_attribute(root, "farfault_version"));
  auto const runs = open_group(file, "runs");
  std::uint64_t done = 0, failed = 0;
  auto const states = run_texts(runs, "state");
  for (auto const& state : states) {
    if (state == "done") ++done;
    if (state == "failed") ++failed;
  }
  for (auto const number : {std::uint64_t{states.size()}, done, failed}) pack.put(number);
  std::uint64_t figures = 0;
  for (auto const& name : link_names(runs)) {
    auto const role = text_attribute(open_dataset(runs, name), "role");
    if (role == "figure") ++figures;
    if (role != "parameter") continue;
    pack.put(1);
    pack.put(name);
  }
  pack.put(std::uint64_t{0});
  pack.put(figures);
  return pack.take();
}

constexpr std::uint64_t kMaxRowsOfTable = 1'000'000;
constexpr std::size_t kMaxTextOfTable = std::size_t{256} << 20;

void pack_column(hid_t group, std::string const& name, std::uint64_t rows, std::size_t& bytes, Pack& pack) {
  auto const dataset = open_dataset(group, name);
  auto const shape = shape_of_dataset(dataset);
  bool const is_known =
      shape.kind == Kind::text || shape.kind == Kind::unsigned_integer || shape.kind == Kind::real;
  if (!is_known || shape.extents.size() != 1 || shape.rows() != rows)
    throw Hdf5Failure(name + " does not have one text or number per row");
  pack.put(1);
  pack.put(name);
  for (auto const* attribute : {"role", "units", "long_name", "varies_with"})
    pack.put(text_attribute(dataset, attribute));
  pack.put(static_cast<std::uint64_t>(shape.kind));
  pack.put(rows);
  auto const add_bytes = [&](std::size_t more) {
    bytes += more;
    if (bytes > kMaxTextOfTable) throw Hdf5Failure("its columns are too long");
  };
  if (shape.kind == Kind::text) {
    for (auto const& text : read_texts(dataset, shape, 0, rows)) {
      add_bytes(8 + text.size());
      pack.put(text);
    }
  } else {
    add_bytes(8 * rows);
    for (auto const word : read_words(dataset, shape, 0, rows)) pack.put(word);
  }
}

// All columns except the scale and figures that are not in `figures`.
void pack_columns(hid_t file, std::string const& folder, std::string const& scale,
                  std::vector<std::string> const& figures, Pack& pack) {
  auto const group = open_group(file, folder);
  auto const rows = shape_of_dataset(open_dataset(group, scale)).rows();
  if (rows > kMaxRowsOfTable) throw Hdf5Failure(folder + " has too many rows");
  std::size_t bytes = 0;
  for (auto const& name : link_names(group)) {
    if (name == scale) continue;
    if (text_attribute(open_dataset(group, name), "role") == "figure" &&
        std::ranges::find(figures, name) == figures.end())
      continue;
    pack_column(group, name, rows, bytes, pack);
  }
  pack.put(std::uint64_t{0});
}

SweepColumn unpack_column(Pack& pack) {
  SweepColumn column;
  for (auto* field : {&column.name, &column.role, &column.unit, &column.text, &column.varies_with})
    *field = pack.text();
  auto const kind = static_cast<Kind>(pack.number());
  auto const rows = pack.number();
  if (kind == Kind::text) {
    std::vector<std::string> texts;
    for (std::uint64_t row = 0; row < rows; ++row) texts.push_back(pack.text());
    column.values = std::move(texts);
  } else if (kind == Kind::unsigned_integer) {
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t row = 0; row < rows; ++row) numbers.push_back(pack.number());
    column.values = std::move(numbers);
  } else {
    std::vector<double> numbers;
    for (std::uint64_t row = 0; row < rows; ++row) numbers.push_back(std::bit_cast<double>(pack.number()));
    column.values = std::move(numbers);
  }
  return column;
}

// Number of rows that differ from the row before.
std::size_t changes_in(SweepColumn const& column) {
  return std::visit(
      [](auto const& values) {
        std::size_t changes = 0;
        for (std::size_t i = 1; i < values.size(); ++i) changes += values[i] != values[i - 1] ? 1 : 0;
        return changes;
      },
      column.values);
}

// HDF5 lists columns by name. The order of the file: name and facts, parameters, ratios, figures.
std::vector<SweepColumn> unpack_columns(Pack& pack) {
  std::vector<SweepColumn> columns;
  while (pack.number() != 0) columns.push_back(unpack_column(pack));
  auto const place = [](SweepColumn const& column) {
    bool const is_parameter = column.role == "parameter";
    int const kind = column.name == "name"     ? 0
                     : column.role.empty()     ? 1
                     : is_parameter            ? 2
                     : column.role == "figure" ? 4
                                               : 3;
    return std::tuple(kind, is_parameter ? changes_in(column) : 0);
  };
  std::ranges::stable_sort(columns, {}, place);
  return columns;
}

std::string pack_sweep_table(hid_t file, std::vector<std::string> const& figures) {
  auto const root = sweep_root(file);
  check_schema(root);
  Pack pack;
  for (auto const* attribute : {"baseline", "mean_over"}) pack.put(text_attribute(root, attribute));
  pack_columns(file, "runs", "run", figures, pack);
  bool const has_means = has(file, "means");
  pack.put(has_means ? 1 : 0);
  if (has_means) pack_columns(file, "means", "group", {}, pack);
  return pack.take();
}

void pack_inputs(hid_t file, Pack& pack) {
  std::vector<std::vector<std::string>> columns;
  for (auto const* name : {"parameter", "path", "hash"})
    columns.push_back(run_texts(file, std::string("/config/inputs/") + name));
  auto const bytes_set = open_dataset(file, "/config/inputs/bytes");
  auto const shape = shape_of_dataset(bytes_set);
  auto const rows = columns[0].size();
  if (columns[1].size() != rows || columns[2].size() != rows || shape.rows() != rows ||
      shape.row_values != 1 || shape.kind != Kind::unsigned_integer)
    throw Hdf5Failure("the columns of /config/inputs do not match");
  auto const bytes = read_words(bytes_set, shape, 0, rows);
  for (std::size_t i = 0; i < rows; ++i) {
    pack.put(1);
    for (auto const& column : columns) pack.put(column[i]);
    pack.put(bytes[i]);
  }
  pack.put(std::uint64_t{0});
}

std::string pack_swept(hid_t file) {
  check_is_result(file);
  Pack pack;
  auto const root = open_group(file, "/");
  for (auto const* name : {"farfault_version", "end_reason", "result_digest"})
    pack.put(text_attribute(root, name));
  for (auto const* name : {"commit", "build"}) pack.put(text_if_there(file, std::string("engine/") + name));
  pack.put(config_without_file_names(file));
  pack_inputs(file, pack);
  pack.put(word_if_there(file, "engine/wall_time", Kind::real));
  pack.put(word_if_there(file, "engine/start_simulated_time", Kind::unsigned_integer));
  if (has(file, "summary/machine")) pack_summary_of(file, "machine", pack);
  pack.put(std::uint64_t{0});
  return pack.take();
}

}  // namespace

bool looks_like_sweep(std::string const& path) {
  try {
    return read_guarded(path, [](hid_t file) {
             sweep_root(file);
             return std::string("yes");
           }) == "yes";
  } catch (std::exception const&) {
    return false;
  }
}

SweepSummary read_sweep(std::string const& path) {
  Pack pack(read_guarded(path, pack_sweep));
  SweepSummary s;
  s.schema_version = static_cast<std::int64_t>(pack.number());
  s.farfault_version = pack.text();
  for (auto* number : {&s.runs, &s.done, &s.failed}) *number = pack.number();
  s.missing = s.runs - s.done - s.failed;
  while (pack.number() != 0) s.parameters.push_back(pack.text());
  s.figures = pack.number();
  return s;
}

SweepTable read_sweep_table(std::string const& path, std::vector<std::string> const& figures) {
  Pack pack(read_guarded(path, [&](hid_t file) { return pack_sweep_table(file, figures); }));
  SweepTable table;
  table.baseline = pack.text();
  table.mean_over = pack.text();
  table.runs = unpack_columns(pack);
  if (pack.number() != 0) table.means = unpack_columns(pack);
  return table;
}

std::string to_json(SweepSummary const& s) {
  nlohmann::ordered_json const all = {{"kind", "sweep"},
                                      {"schema_version", s.schema_version},
                                      {"farfault_version", s.farfault_version},
                                      {"runs", s.runs},
                                      {"done", s.done},
                                      {"failed", s.failed},
                                      {"missing", s.missing},
                                      {"parameters", s.parameters},
                                      {"figures", s.figures}};
  return all.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

std::string to_text(SweepSummary const& s) {
  std::string parameters;
  for (auto const& p : s.parameters) parameters += (parameters.empty() ? "" : ", ") + shown(p);
  return "sweep of Farfault " + shown(s.farfault_version) + ", schema " + std::to_string(s.schema_version) +
         "\n" + "  runs:     " + std::to_string(s.runs) + ": " + std::to_string(s.done) + " done, " +
         std::to_string(s.failed) + " failed, " + std::to_string(s.missing) + " missing\n" +
         "  varied:   " + parameters + "\n" + "  figures:  " + std::to_string(s.figures) + " per run\n";
}

SweptRun read_swept_run(std::string const& path) {
  Pack pack(read_guarded(path, pack_swept));
  SweptRun r;
  for (auto* field : {&r.farfault_version, &r.end_reason, &r.result_digest, &r.commit, &r.build, &r.config})
    *field = pack.text();
  while (pack.number() != 0) {
    auto& input = r.inputs.emplace_back();
    for (auto* field : {&input.parameter, &input.path, &input.hash}) *field = pack.text();
    input.bytes = pack.number();
  }
  r.wall_time = std::bit_cast<double>(pack.number());
  r.resumed = pack.number() != 0;
  r.figures = unpack_summary(pack);
  return r;
}

}  // namespace farfault::results
