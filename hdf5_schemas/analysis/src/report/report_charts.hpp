// SPDX-License-Identifier: Apache-2.0
// Private: charts of devices over time, for all devices together and for single GPUs.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "report_parts.hpp"
#include "sampled.hpp"

namespace farfault::analysis {

inline constexpr double kPicosecondsPerSecond = 1e12;
inline constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

using Rows = std::vector<std::vector<double>>;  // [device][interval]

enum class Per : std::uint8_t {
  second,    // rate
  instance,  // share of the time of each instance
  link,      // share of the time of each of its links
  whole,     // share of `whole`
  nothing    // level
};

struct Chart {
  std::string id;
  std::string title;
  std::string kind;
  std::vector<std::string> parts;  // summed
  Per per;
  std::vector<std::string> whole = {};
};

// The charts of known kinds, in drawing order.
std::vector<Chart> const& charts();
// The charts of a kind of component in a result: from charts(), for every other level of TLBs, and for every
// sender of links.
std::vector<Chart> charts_of(std::string const& kind, Sampled const& sampled);

// The devices of a group of series, in the order of their first instances.
struct Devices {
  std::vector<std::string> names;
  std::vector<std::size_t> of_instance;
  std::vector<double> instances;  // number of instances per device
  std::vector<double> links;      // number of links per device, over all its instances
};

Devices devices_of(ReportSource const& source, Sampled const& sampled);

double lasting(std::vector<std::uint64_t> const& ends, std::size_t interval);
Rows values_of(Chart const& c, Sampled const& sampled, Devices const& d);
std::string units_of(Chart const& c, Sampled const& sampled);
// True if every value is `value` or missing.
bool is_all(Rows const& rows, double value);

}  // namespace farfault::analysis
