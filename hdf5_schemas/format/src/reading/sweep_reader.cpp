// SPDX-License-Identifier: Apache-2.0
#include <hdf5.h>

#include <bit>
#include <nlohmann/json.hpp>

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
  s.schema_version = kSchemaVersion;
  s.farfault_version = pack.text();
  for (auto* number : {&s.runs, &s.done, &s.failed}) *number = pack.number();
  s.missing = s.runs - s.done - s.failed;
  while (pack.number() != 0) s.parameters.push_back(pack.text());
  s.figures = pack.number();
  return s;
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
