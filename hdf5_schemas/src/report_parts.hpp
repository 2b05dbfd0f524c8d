// SPDX-License-Identifier: Apache-2.0
// Private: the parts of what a report shows (farfault/results/report.hpp), each from an open result.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>
#include <vector>

#include "farfault/results/report.hpp"
#include "handle.hpp"

namespace farfault::results {

using Json = nlohmann::ordered_json;

// A description in one line, whatever its length.
std::string brief(std::string const& text);

// A row of a drawing, {name, scale, values}: values that are no number are null.
Json drawn_row(std::string const& name, std::vector<double> const& values);

// Ends of intervals, each list once.
class Clocks {
 public:
  std::size_t number_of(std::vector<std::uint64_t> const& ends);
  Json json() const { return lists_; }

 private:
  std::vector<std::vector<std::uint64_t>> lists_;
};

// What is known of the machine before its parts are read.
struct ReportSource {
  hid_t file;
  ReportSize size;
  std::uint64_t end_ps;
  std::unordered_set<std::string> nodes;  // names
  std::vector<std::string> node_order;
  std::vector<std::string> gpus;  // those that are GPUs
  // How many links each component sends over, where the result says so: its busy time is that of all of them.
  std::map<std::string, std::size_t> links_of;
};

// Each adds its parts to `to`; what a result does not have is not there.
void add_series(ReportSource const& source, Clocks& clocks, Json& to);  // series, totals
void add_stacks(ReportSource const& source, Clocks& clocks, Json& to);  // stack, sms, gpu_stacks
void add_links(ReportSource const& source, Clocks& clocks, Json& to);   // link_use
void add_gpus(ReportSource const& source, Clocks& clocks, Json& to);    // gpus, of two and more
void add_histograms(ReportSource const& source, Json& to);              // histograms
void add_tables(ReportSource const& source, Json& to);  // kernels, batches, under_way, traffic, placement

}  // namespace farfault::results
