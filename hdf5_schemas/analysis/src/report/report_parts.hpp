// SPDX-License-Identifier: Apache-2.0
// Private: the parts of report data (farfault/analysis/report.hpp), each from an open result.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>
#include <vector>

#include "farfault/analysis/report.hpp"
#include "result_file.hpp"

namespace farfault::analysis {

using Json = nlohmann::ordered_json;

// The description on one line.
std::string brief(std::string const& text);

// A row of a plot, {name, scale, values}. NaN becomes null.
Json drawn_row(std::string const& name, std::vector<double> const& values);

// Lists of interval ends, without duplicates.
class Clocks {
 public:
  std::size_t number_of(std::vector<std::uint64_t> const& ends);
  Json json() const { return lists_; }

 private:
  std::vector<std::vector<std::uint64_t>> lists_;
};

// Facts about the machine that all parts need.
struct ReportSource {
  ObjectId file;
  ReportSize size;
  std::uint64_t end_ps;
  std::unordered_set<std::string> nodes;  // names
  std::vector<std::string> node_order;
  std::vector<std::string> gpus;  // the nodes that are GPUs
  // Number of links per sending component, if the result has it: its busy time is the sum over them.
  std::map<std::string, std::size_t> links_of;
};

// Each function adds its parts to `to`, without the parts that the result lacks.
void add_series(ReportSource const& source, Clocks& clocks, Json& to);  // series, totals
void add_stacks(ReportSource const& source, Clocks& clocks, Json& to);  // stack, sms, gpu_stacks
void add_links(ReportSource const& source, Clocks& clocks, Json& to);   // link_use
void add_gpus(ReportSource const& source, Clocks& clocks, Json& to);    // gpus, for two or more
void add_histograms(ReportSource const& source, Json& to);              // histograms
void add_tables(ReportSource const& source, Json& to);  // kernels, batches, outstanding, traffic, placement

}  // namespace farfault::analysis
