// SPDX-License-Identifier: Apache-2.0
#include "store.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "farfault/engine/error.hpp"
#include "layout.hpp"
#include "open.hpp"

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
      write_index(group, "input", inputs.size(), "number of the input file, in the order of reading");
  ScaleTies ties;
  auto const list = [&](char const* name, auto const& values, Description const& about) {
    ties.tie(write_column(group, name, values, about), {scale});
  };
  list("parameter", column(inputs, &InputRecord::parameter),
       {"text", "parameter of the configuration that named the file"});
  list("path", column(inputs, &InputRecord::path), {"text", "name of the input file"});
  list("bytes", column(inputs, &InputRecord::bytes), {"bytes", "size of the input file"});
  list("hash", column(inputs, &InputRecord::hash), {"text", "hash of the content of the input file"});
  ties.write();
}

void write_topology(hid_t file, RunHeader const& header) {
  auto const topology = create_group(file, "topology", 2);
  ScaleTies ties;
  auto const nodes = create_group(topology, "nodes", header.cluster ? 6 : 3);
  auto const node = write_index(nodes, "node", header.nodes.size(), "number of the node");
  ties.tie(write_column(nodes, "name", column(header.nodes, &NodeRow::name), {"text", "name of the node"}),
           {node});
  ties.tie(write_column(nodes, "kind", column(header.nodes, &NodeRow::kind),
                        {"text", "what the node is: gpu, cpu, nic or a kind of switch"}),
           {node});
  if (header.cluster) {
    auto const of_cluster = [&](char const* name, std::string NodeRow::*member, std::string const& text) {
      ties.tie(write_column(nodes, name, column(header.nodes, member), {"text", text}), {node});
    };
    of_cluster("machine", &NodeRow::machine, "machine of the cluster that the node belongs to");
    of_cluster("host", &NodeRow::host, "path of the host that launches the kernels of the GPU");
    of_cluster("driver", &NodeRow::driver, "path of the driver that manages the memory of the GPU or CPU");
  }

  auto const links = create_group(topology, "links", 7);
  auto const link = write_index(links, "link", header.links.size(), "number of the link");
  std::vector<std::uint64_t> a, b;
  for (auto const& row : header.links) {
    a.push_back(row.a);
    b.push_back(row.b);
  }
  auto const list = [&](char const* name, auto const& values, Description const& about) {
    ties.tie(write_column(links, name, values, about), {link});
  };
  list("a", a, {"index", "node at one end"});
  list("b", b, {"index", "node at the other end"});
  list("kind", column(header.links, &LinkRow::kind), {"text", "technology of the link"});
  list("latency_ps", column(header.links, &LinkRow::latency_ps), {"ps", "latency from one end to the other"});
  list("forward_bytes_per_s", column(header.links, &LinkRow::forward_bytes_per_s),
       {"bytes/s", "bandwidth from a to b"});
  list("backward_bytes_per_s", column(header.links, &LinkRow::backward_bytes_per_s),
       {"bytes/s", "bandwidth from b to a"});
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
               {"text", "the resolved configuration in TOML: every parameter, defaults included"});
  write_scalar(config, "command_line", header.command_line, {"text", "the command that made this file"});
  write_scalar(config, "seed", header.seed, {"1", "seed of every random choice of the model"});
  write_inputs(config, header.inputs);
  write_topology(file, header);
}

void write_summary(hid_t file, std::vector<SummaryRow> const& rows) {
  remove_if_there(file, "summary");
  std::vector<std::string> scopes;
  for (auto const& row : rows)
    if (std::find(scopes.begin(), scopes.end(), row.scope) == scopes.end()) scopes.push_back(row.scope);
  auto const summary = create_group(file, "summary", scopes.size());
  for (auto const& scope : scopes) {
    FF_CHECK(is_object_name(scope), "a scope of the summary has no valid name");
    std::vector<std::string> names;
    std::map<std::string, std::uint64_t> place;
    std::vector<std::string> metrics;
    std::map<std::string, std::pair<Description, std::vector<std::uint64_t>>> values;
    for (auto const& row : rows)
      if (row.scope == scope && place.emplace(row.name, names.size()).second) names.push_back(row.name);
    for (auto const& row : rows) {
      if (row.scope != scope) continue;
      FF_CHECK(is_object_name(row.metric) && row.metric != "name",
               "a metric of the summary has no valid name");
      auto const [it, fresh] = values.try_emplace(row.metric, Description{row.unit, row.text},
                                                  std::vector<std::uint64_t>(names.size(), kMissing));
      if (fresh) metrics.push_back(row.metric);
      it->second.second[place[row.name]] = row.value;
    }
    auto const group = create_group(summary, scope, metrics.size() + 1);
    auto const scale =
        write_column(group, "name", names, {"text", "what the figures at this place are about"});
    make_scale(scale, "name");
    ScaleTies ties;
    for (auto const& metric : metrics) {
      auto const& [about, figures] = values.at(metric);
      auto const dataset = write_column(group, metric, figures, about);
      if (std::find(figures.begin(), figures.end(), kMissing) != figures.end())
        set_attribute(dataset, "_FillValue", kMissing);
      ties.tie(dataset, {scale});
    }
    ties.write();
  }
}

void write_engine(hid_t file, std::vector<EngineValue> const& values) {
  remove_if_there(file, "engine");
  auto const engine = create_group(file, "engine", values.size());
  std::map<std::size_t, Handle> scales;
  ScaleTies ties;
  auto const scale = [&](std::size_t n) -> hid_t {
    auto& handle = scales[n];
    if (handle.get() < 0)
      handle = write_index(engine, "index_" + std::to_string(n), n, "number of the value");
    return handle;
  };
  for (auto const& value : values) {
    FF_CHECK(is_object_name(value.name), "a value of the self-profile has no valid name");
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
