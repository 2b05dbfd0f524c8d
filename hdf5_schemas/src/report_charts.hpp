// SPDX-License-Identifier: Apache-2.0
// Private: what is drawn of each device over time, whether of all together or of one GPU.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "report_parts.hpp"
#include "sampled.hpp"

namespace farfault::results {

inline constexpr double kPicosecondsPerSecond = 1e12;
inline constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

using Rows = std::vector<std::vector<double>>;  // [device][interval]

enum class Per : std::uint8_t {
  second,    // a rate
  instance,  // a share of the time of each instance
  link,      // a share of the time of each of its links
  whole,     // a share of `whole`
  nothing    // a level
};

struct Chart {
  std::string id;
  std::string title;
  std::string kind;
  std::vector<std::string> parts;  // summed
  Per per;
  std::vector<std::string> whole = {};
};

// Those of kinds that are known, in the order in which they are drawn.
std::vector<Chart> const& charts();
// Those that a kind of components has in a result: of charts(), and of whatever sends over links.
std::vector<Chart> charts_of(std::string const& kind, Sampled const& sampled);

// The devices of a group of series, in the order of their first instances.
struct Devices {
  std::vector<std::string> names;
  std::vector<std::size_t> of_instance;
  std::vector<double> instances;  // how many each has
  std::vector<double> links;      // how many all of them send over
};

Devices devices_of(ReportSource const& source, Sampled const& sampled);

double lasting(std::vector<std::uint64_t> const& ends, std::size_t interval);
Rows values_of(Chart const& c, Sampled const& sampled, Devices const& d);
std::string units_of(Chart const& c, Sampled const& sampled);
// Whether every value is `value` or none.
bool is_all(Rows const& rows, double value);

}  // namespace farfault::results
