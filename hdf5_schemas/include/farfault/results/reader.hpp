// SPDX-License-Identifier: Apache-2.0
// Reads results: what a file holds, whether it is whole, and where two of them differ.
//
// Guarantees: any file may be given. A truncated, damaged, foreign or hostile one ends in a UserError of one
// sentence, never in a crash, a hang or more than 4 GiB of memory: a child process does the reading under
// limits (so call these from a program without other threads at work). A "<path>.partial" of a killed run
// reads like a finished result; it has no digest of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "farfault/results/writer.hpp"

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
  std::string result_digest;  // as stored; empty in the file of a run that did not finish
  std::string end_reason;
  // By whom it was made: the source of the program, the host and when, as far as the file says so.
  std::string commit;
  std::string host;
  std::string start_time;
  std::string command_line;
  std::uint64_t seed = 0;
  std::int64_t last_time_ps = 0;  // of the latest sample
  std::uint64_t nodes = 0;
  std::uint64_t links = 0;
  // Of a cluster, each name once, in the order of the nodes.
  std::vector<std::string> machines;
  std::vector<std::string> hosts;
  std::vector<std::string> drivers;
  std::vector<SeriesSummary> series;
  std::vector<TableSummary> tables;
  std::vector<SummaryRow> summary;
};

// True when the file looks like HDF5 and like ours; never throws.
bool looks_like_result(std::string const& path);

ResultSummary read_summary(std::string const& path);
std::string to_json(ResultSummary const& summary);  // one line, {"kind":"result",...}
std::string to_text(ResultSummary const& summary);  // for people

// A vector of the self-profile, /engine/<name>; throws UserError when the file has none of that name.
std::vector<std::uint64_t> read_engine(std::string const& path, std::string const& name);

// What is wrong with the file, one sentence each; empty for a sound result. Throws only when nothing can be
// read.
std::vector<std::string> validate(std::string const& path);

struct Difference {
  std::string where;                    // "topology", "timeseries", "tables", "summary" or "attributes"
  std::string path;                     // "/timeseries/l2_tlb/hits"
  std::optional<std::int64_t> time_ps;  // of the first sample or row that differs, where it has a time
  std::string text;                     // one sentence for people
};

// A parameter of the configuration, or the content of an input file ("the file of workload.bfs.graph").
struct SettingDifference {
  std::string name;
  std::string a, b;  // the values as the configuration has them; "none" where there is none
};

struct Comparison {
  // Where the results differ first: in what was simulated, at the earliest simulated time; else in the
  // summary; else in the machine. Nothing where the results are equal.
  std::optional<Difference> difference;
  std::vector<SettingDifference> settings;
};

Comparison diff(std::string const& a, std::string const& b);

// The parameters for which two results name input files differently, in the order of the configuration of
// `a`. Where the digests agree, the files held the same.
std::vector<std::string> renamed_inputs(std::string const& a, std::string const& b);

}  // namespace farfault::results
