// SPDX-License-Identifier: Apache-2.0
#include "store.hpp"

#include <hdf5.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "farfault/engine/error.hpp"
#include "farfault/results/reading/open.hpp"
#include "file/value_hash.hpp"
#include "layout.hpp"

namespace farfault::results {
namespace {

constexpr auto kMissing = std::numeric_limits<std::uint64_t>::max();

template <class Row, class Member>
auto column(std::vector<Row> const& rows, Member member) {
  std::vector<std::decay_t<decltype(std::declval<Row>().*member)>> values;
  values.reserve(rows.size());
  for (auto const& row : rows) values.push_back(row.*member);
  return values;
}

std::vector<std::uint64_t> indices(std::size_t n) {
  std::vector<std::uint64_t> values(n);
  std::iota(values.begin(), values.end(), std::uint64_t{0});
  return values;
}

Handle write_index(hid_t parent, std::string const& name, std::size_t n, std::string const& text) {
  auto scale = write_column(parent, name, indices(n), {"index", text});
  make_scale(scale, name);
  return scale;
}

void write_inputs(hid_t config, std::vector<InputRecord> const& inputs) {
  auto const group = create_group(config, "inputs", 5);
  auto const scale =
      write_index(group, "input", inputs.size(), "Index of the input file, in the order of reading");
  ScaleTies ties;
  auto const list = [&](char const* name, auto const& values, Description const& about) {
    ties.tie(write_column(group, name, values, about), {scale});
  };
  list("parameter", column(inputs, &InputRecord::parameter), {"text", "Parameter that names the input file"});
  list("path", column(inputs, &InputRecord::path), {"text", "Name of the input file"});
  list("bytes", column(inputs, &InputRecord::bytes), {"bytes", "Size of the input file"});
  list("hash", column(inputs, &InputRecord::hash), {"text", "Hash of the input file's content"});
  ties.write();
}

void write_unused(hid_t config, std::vector<UnusedSetting> const& unused) {
  auto const group = create_group(config, "unused", 4);
  auto const scale = write_index(group, "setting", unused.size(), "Index of the setting without effect");
  ScaleTies ties;
  auto const list = [&](char const* name, std::string UnusedSetting::*member, std::string const& text) {
    ties.tie(write_column(group, name, column(unused, member), {"text", text}), {scale});
  };
  list("key", &UnusedSetting::key, "Parameter that was set and had no effect");
  list("only_with", &UnusedSetting::only_with, "Condition under which it has an effect");
  list("instead", &UnusedSetting::instead, "Parameter to set instead; empty: none");
  ties.write();
}

void write_topology(hid_t file, RunHeader const& header) {
  auto const topology = create_group(file, "topology", 2);
  ScaleTies ties;
  auto const nodes = create_group(topology, "nodes", header.cluster ? 6 : 3);
  auto const node = write_index(nodes, "node", header.nodes.size(), "Index of the node");
  ties.tie(write_column(nodes, "name", column(header.nodes, &NodeRow::name), {"text", "Name of the node"}),
           {node});
  ties.tie(write_column(nodes, "kind", column(header.nodes, &NodeRow::kind),
                        {"text", "Kind of the node: gpu, cpu, nic or a kind of switch"}),
           {node});
  if (header.cluster) {
    auto const of_cluster = [&](char const* name, std::string NodeRow::*member, std::string const& text) {
      ties.tie(write_column(nodes, name, column(header.nodes, member), {"text", text}), {node});
    };
    of_cluster("machine", &NodeRow::machine, "Machine of the cluster that contains the node");
    of_cluster("host", &NodeRow::host, "Path of the host that launches the GPU's kernels");
    of_cluster("driver", &NodeRow::driver, "Path of the driver that manages the memory of the GPU or CPU");
  }

  auto const links = create_group(topology, "links", 7);
  auto const link = write_index(links, "link", header.links.size(), "Index of the link");
  std::vector<std::uint64_t> a, b;
  for (auto const& row : header.links) {
    a.push_back(row.a);
    b.push_back(row.b);
  }
  auto const list = [&](char const* name, auto const& values, Description const& about) {
    ties.tie(write_column(links, name, values, about), {link});
  };
  list("a", a, {"index", "Index of the node at end a"});
  list("b", b, {"index", "Index of the node at end b"});
  list("kind", column(header.links, &LinkRow::kind), {"text", "Technology of the link"});
  list("latency_ps", column(header.links, &LinkRow::latency_ps), {"ps", "Latency of the link"});
  list("forward_bytes_per_s", column(header.links, &LinkRow::forward_bytes_per_s),
       {"bytes/s", "Bandwidth from a to b"});
  list("backward_bytes_per_s", column(header.links, &LinkRow::backward_bytes_per_s),
       {"bytes/s", "Bandwidth from b to a"});
  ties.write();
}

void remove_if_there(hid_t file, char const* name) {
  if (has(file, name)) check(H5Ldelete(file, name, H5P_DEFAULT), "cannot replace a group");
}

}  // namespace

bool is_object_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == name.npos &&
         name.find('\0') == name.npos;
}

void write_header(hid_t file, RunHeader const& header) {
  auto const config = create_group(file, "config", 4);
  write_scalar(config, "toml", header.resolved_config,
               {"text", "Resolved configuration in TOML: every parameter, including defaults"});
  write_scalar(config, "command_line", header.command_line, {"text", "Command that created this file"});
  write_scalar(config, "seed", header.seed, {"1", "Random seed of the model"});
  write_inputs(config, header.inputs);
  if (!header.unused.empty()) write_unused(config, header.unused);
  write_topology(file, header);
}

KnownDatasets write_summary(hid_t file, std::vector<SummaryRow> const& rows) {
  KnownDatasets known;
  remove_if_there(file, "summary");
  std::vector<std::string> scopes;
  for (auto const& row : rows)
    if (std::find(scopes.begin(), scopes.end(), row.scope) == scopes.end()) scopes.push_back(row.scope);
  auto const summary = create_group(file, "summary", scopes.size());
  for (auto const& scope : scopes) {
    FF_CHECK(is_object_name(scope), "the name of a summary scope is invalid");
    std::vector<std::string> names;
    std::map<std::string, std::uint64_t> place;
    std::vector<std::string> metrics;
    std::map<std::string, std::pair<Description, std::vector<std::uint64_t>>> values;
    for (auto const& row : rows)
      if (row.scope == scope && place.emplace(row.name, names.size()).second) names.push_back(row.name);
    for (auto const& row : rows) {
      if (row.scope != scope) continue;
      FF_CHECK(is_object_name(row.metric) && row.metric != "name", "the name of a summary metric is invalid");
      auto const [it, fresh] = values.try_emplace(row.metric, Description{row.unit, row.text},
                                                  std::vector<std::uint64_t>(names.size(), kMissing));
      if (fresh) metrics.push_back(row.metric);
      it->second.second[place[row.name]] = row.value;
    }
    auto const group = create_group(summary, scope, metrics.size() + 1);
    auto const scale = write_column(group, "name", names, {"text", "Machine, GPU or application of the row"});
    make_scale(scale, "name");
    ScaleTies ties;
    for (auto const& metric : metrics) {
      auto const& [about, figures] = values.at(metric);
      auto const dataset = write_column(group, metric, figures, about);
      if (std::find(figures.begin(), figures.end(), kMissing) != figures.end()) {
        set_attribute(dataset, "_FillValue", kMissing);
      } else {
        ValueHash values_hash(1);
        values_hash.add(figures.size(), figures.data());
        known["/summary/" + scope + "/" + metric] = {Kind::unsigned_integer,
                                                     {figures.size()},
                                                     description_of(Element::u64, about),
                                                     values_hash.value()};
      }
      ties.tie(dataset, {scale});
    }
    ties.write();
  }
  return known;
}

void write_engine(hid_t file, std::vector<EngineValue> const& values) {
  remove_if_there(file, "engine");
  auto const engine = create_group(file, "engine", values.size());
  std::map<std::size_t, Handle> scales;
  ScaleTies ties;
  auto const scale = [&](std::size_t n) -> hid_t {
    auto& handle = scales[n];
    if (handle.get() < 0) handle = write_index(engine, "index_" + std::to_string(n), n, "Index of the value");
    return handle;
  };
  for (auto const& value : values) {
    FF_CHECK(is_object_name(value.name), "the name of a self-profile value is invalid");
    Description const about{value.unit, value.text};
    std::visit(
        [&]<class Value>(Value const& v) {
          constexpr bool is_list =
              std::is_same_v<Value, std::vector<double>> || std::is_same_v<Value, std::vector<std::uint64_t>>;
          if constexpr (is_list)
            ties.tie(write_column(engine, value.name, v, about), {scale(v.size())});
          else
            write_scalar(engine, value.name, v, about);
        },
        value.value);
  }
  ties.write();
}

}  // namespace farfault::results
