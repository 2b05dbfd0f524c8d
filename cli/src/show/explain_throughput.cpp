// SPDX-License-Identifier: Apache-2.0
#include "explain_throughput.hpp"

#include <fmt/format.h>

#include <ostream>

#include "farfault/engine/error.hpp"

namespace farfault::cli {
namespace {

constexpr std::size_t kThroughputWidth = 44;

std::string share_of_peak(double x) {
  return fmt::format("{:.1f}%", 100 * x);
}

// Three significant digits.
std::string gigabytes(double bytes) {
  auto const x = bytes / 1e9;
  return x >= 100 ? fmt::format("{:.0f}", x) : fmt::format("{:.3g}", x);
}

}  // namespace

void print_throughputs(std::vector<analysis::Throughput> const& all, std::ostream& out) {
  if (all.empty()) return;
  out << fmt::format("{:<{}}{:>8}  {:>10}  {}", "Throughput, average of the run", kThroughputWidth + 2,
                     "of peak", "GB/s", "peak in GB/s, and busiest instance")
      << "\n";
  for (auto const& t : all) {
    auto const name = fmt::format("{} ({} {})", shown(t.what), t.alike, t.instances);
    auto const busiest = t.alike == 1
                             ? std::string()
                             : fmt::format("; {} {}", shown(t.busiest), share_of_peak(t.share_of_busiest));
    out << fmt::format("  {:<{}}{:>8}  {:>10}  {}{}", name, kThroughputWidth, share_of_peak(t.share()),
                       gigabytes(t.rate), gigabytes(t.peak), busiest)
        << "\n";
  }
}

}  // namespace farfault::cli
