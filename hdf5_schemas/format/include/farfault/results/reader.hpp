// SPDX-License-Identifier: Apache-2.0
// Reads results: summary, validation, and the first difference between two results.
//
// Guarantees: any file may be given. A truncated, damaged, foreign or hostile file raises a one-sentence
// UserError, never a crash, a hang or more than 4 GiB of memory: a child process reads the file under limits.
// Call these functions only while no other thread is running.
// A "<path>.partial" of a killed run reads like a finished result, but has no digest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "farfault/results/schema.hpp"

namespace farfault::results {

struct SeriesSummary {
  std::string kind;
  std::uint64_t samples = 0;
  std::uint64_t instances = 0;
  std::vector<std::string> metrics;
};

struct TableSummary {
  std::string name;
  std::uint64_t rows = 0;
  std::vector<std::string> columns;
};

struct ResultSummary {
  std::int64_t schema_version = 0;
  std::string farfault_version;
  std::string result_digest;  // as stored; empty if the run is incomplete
  std::string end_reason;
  // Origin, if recorded: source revision of the program, host, start time.
  std::string commit;
  std::string host;
  std::string start_time;
  std::string command_line;
  std::uint64_t seed = 0;
  std::int64_t last_time_ps = 0;  // of the latest sample
  std::uint64_t nodes = 0;
  std::uint64_t links = 0;
  // Clusters only: each name once, in the order of the nodes.
  std::vector<std::string> machines;
  std::vector<std::string> hosts;
  std::vector<std::string> drivers;
  std::vector<SeriesSummary> series;
  std::vector<TableSummary> tables;
  std::vector<SummaryRow> summary;
};

// True if the file looks like HDF5 and like a result of Farfault; never throws.
bool looks_like_result(std::string const& path);

ResultSummary read_summary(std::string const& path);
std::string to_json(ResultSummary const& summary);  // one line, {"kind":"result",...}
std::string to_text(ResultSummary const& summary);  // for users

// A vector of the self-profile, /engine/<name>. Throws UserError if it is missing.
std::vector<std::uint64_t> read_engine(std::string const& path, std::string const& name);

// One sentence per defect; empty for a sound result. Throws only if the file is unreadable.
std::vector<std::string> validate(std::string const& path);

struct Difference {
  std::string where;                    // "topology", "timeseries", "tables", "summary" or "attributes"
  std::string path;                     // "/timeseries/l2_tlb/hits"
  std::optional<std::int64_t> time_ps;  // of the first differing sample or row, if it has a time
  std::string text;                     // one sentence for users
};

// A parameter of the configuration, or the content of an input file ("the file of workload.bfs.graph").
struct SettingDifference {
  std::string name;
  std::string a, b;  // values as in the configuration; "none": missing
};

struct Comparison {
  // The first difference: the one at the earliest simulated time; otherwise in the summary; otherwise in the
  // machine. Empty: equal results.
  std::optional<Difference> difference;
  std::vector<SettingDifference> settings;
};

Comparison diff(std::string const& a, std::string const& b);

// Parameters for which two results name input files differently, in the order of the configuration of `a`. If
// the digests agree, the files have the same content.
std::vector<std::string> renamed_inputs(std::string const& a, std::string const& b);

}  // namespace farfault::results
