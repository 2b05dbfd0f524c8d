// SPDX-License-Identifier: Apache-2.0
// The records of a result, for its writer and its readers. Layout: docs/reference/hdf5.md.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "farfault/engine/probes.hpp"

namespace farfault::results {

// Version of written files, and the oldest one that is read.
inline constexpr std::int64_t kSchemaVersion = 3, kOldestSchemaVersion = 2;

// An input file. The digest covers its content, not its name.
struct InputRecord {
  std::string parameter;  // that names it: "workload.bfs.graph"
  std::string path;
  std::uint64_t bytes = 0;
  std::string hash;
};

// A setting without effect. Outside the digest.
struct UnusedSetting {
  std::string key;
  std::string only_with;  // the condition under which it has an effect
  std::string instead;    // the parameter to set instead; empty: none
};

struct NodeRow {
  std::string name;
  std::string kind;
  // Clusters only.
  std::string machine = {};  // that contains the node: "m0"; empty: a switch between machines
  std::string host = {};     // path of the component that runs its kernels; empty: not a GPU or CPU
  std::string driver = {};   // path of the component that manages its memory; empty: not a GPU or CPU
};

struct LinkRow {
  std::uint32_t a = 0;  // index into the nodes
  std::uint32_t b = 0;
  std::string kind;
  std::uint64_t latency_ps = 0;
  std::uint64_t forward_bytes_per_s = 0;   // from a to b
  std::uint64_t backward_bytes_per_s = 0;  // from b to a
};

struct RunHeader {
  std::string title = "Farfault run";  // attribute of the root
  std::string resolved_config;
  std::string command_line;
  std::uint64_t seed = 0;
  std::vector<InputRecord> inputs;
  std::vector<UnusedSetting> unused = {};
  bool cluster = false;  // nodes belong to machines
  std::vector<NodeRow> nodes;
  std::vector<LinkRow> links;
  std::vector<SeriesGroup> series;
  std::vector<TableInfo> tables;
};

// A figure of the summary: /summary/<scope>/<metric>, in the row of `name`.
struct SummaryRow {
  std::string scope;  // "machine", "gpu", "application"
  std::string name;   // "machine", "gpu0", "bfs"
  std::string metric;
  std::string unit;
  std::string text;
  std::uint64_t value = 0;
};

// A figure of the self-profile: /engine/<name>. Outside the digest.
struct EngineValue {
  std::string name;
  std::string unit;
  std::string text;
  std::variant<double, std::uint64_t, std::string, std::vector<double>, std::vector<std::uint64_t>> value;
};

}  // namespace farfault::results
