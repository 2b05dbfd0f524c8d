// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>

#include "explain_throughput.hpp"
#include "farfault/analysis/explain.hpp"
#include "farfault/cli/readable.hpp"
#include "farfault/engine/error.hpp"
#include "run/density.hpp"

namespace farfault::cli {
namespace {

using analysis::Bound;
using analysis::Explanation;

constexpr double kShown = 0.01;   // smaller shares are summed up
constexpr double kSome = 0.0005;  // smaller sums are not shown
constexpr double kHalf = 0.5;     // a less busy resource is not a bottleneck by itself
constexpr char const* kIdle = "sm_idle_time";
constexpr std::size_t kNameWidth = 44;
constexpr std::size_t kPartsShown = 6;
constexpr std::size_t kMaxKernels = 3;
constexpr std::size_t kMaxResources = 4;

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent(double x) {
  return fmt::format("{:.1f}%", 100 * x);
}

std::string bar(double x) {
  return std::string(static_cast<std::size_t>(std::lround(std::clamp(x, 0.0, 1.0) * 30)), '#');
}

// Tenths of full utilization, one digit per interval of the run: "0139999".
std::string digits(analysis::Resource const& r) {
  if (r.over_time.empty()) return "not recorded over time";
  std::string text;
  for (auto const x : r.over_time)
    text += static_cast<char>('0' + std::min(9, static_cast<int>(std::clamp(x, 0.0, 1.0) * 10)));
  return r.over_time_of.empty() ? text : text + " (" + shown(r.over_time_of) + ")";
}

std::string picoseconds_text(double ps) {
  return for_people(Duration{static_cast<std::int64_t>(ps)});
}

// A part of a whole: its share, additional text, and the share as a bar.
void print_part(std::string const& name, double x, std::string const& more, std::string const& end,
                std::ostream& out) {
  auto line = fmt::format("  {:<{}}{:>8}  {:>10}  {}", name, kNameWidth, percent(x), more, end);
  line.erase(line.find_last_not_of(' ') + 1);
  out << line << "\n";
}

// Prints the parts that are large compared with `main`, and the sum of the others; `more_of` gives additional
// text for an amount in ps.
template <class MoreOf>
void print_parts(std::vector<analysis::TimePart> const& parts, std::uint64_t whole, std::uint64_t main,
                 MoreOf more_of, std::ostream& out) {
  std::uint64_t rest = 0;
  std::size_t printed = 0, others = 0;
  std::string last;
  for (auto const& p : parts) {
    bool const large = share(p.ps, main) >= kShown || (p.name == kIdle && share(p.ps, whole) >= kSome);
    if (large && printed < kPartsShown) {
      auto const x = share(p.ps, whole);
      print_part(p.what, x, more_of(p), bar(x), out);
      ++printed;
    } else if (p.ps != 0) {
      rest += p.ps;
      ++others;
      last = p.what;
    }
  }
  if (share(rest, main) < kSome) return;
  auto const x = share(rest, whole);
  print_part(others == 1 ? last : fmt::format("{} others", others), x,
             more_of(analysis::TimePart{"", "", rest}), bar(x), out);
}

// For each kernel name: its share of the run, its duration, and the main part of its access time.
void print_kernels(Explanation const& e, std::ostream& out) {
  if (e.kernels.empty()) return;
  auto const n = std::min(e.kernels.size(), kMaxKernels);
  auto const heading = e.kernel_names == 1   ? std::string("Kernel")
                       : e.kernel_names <= n ? std::string("Kernels")
                                             : fmt::format("Longest {} of {} kernels", n,
                                                           for_people(static_cast<double>(e.kernel_names)));
  out << fmt::format("{:<{}}{:>8}  {:>10}  {}", heading, kNameWidth + 2, "of run", "per launch",
                     "accesses, average time, largest stage")
      << "\n";
  for (std::size_t i = 0; i < n; ++i) {
    auto const& k = e.kernels[i];
    auto const times = k.launches > 1
                           ? fmt::format(", {} launches", for_people(static_cast<double>(k.launches)))
                           : std::string();
    auto name = shown(k.name);
    if (name.size() + times.size() > kNameWidth)
      name = std::string(first_characters(name, kNameWidth - times.size() - 3)) + "...";
    auto const launches = static_cast<double>(std::max<std::uint64_t>(k.launches, 1));
    std::string accesses = "none";
    if (k.accesses != 0)
      accesses =
          fmt::format("{}, {}", for_people(static_cast<double>(k.accesses)),
                      picoseconds_text(static_cast<double>(k.access_ps) / static_cast<double>(k.accesses)));
    if (k.access_ps != 0 && !k.stages.empty())
      accesses += fmt::format(", {} {}", percent(share(k.stages[0].ps, k.access_ps)), k.stages[0].what);
    print_part(name + times, share(k.ps, e.end_ps), picoseconds_text(static_cast<double>(k.ps) / launches),
               accesses, out);
  }
}

void print_resources(Explanation const& e, std::ostream& out) {
  if (e.resources.empty()) return;
  auto const n = std::min(e.resources.size(), kMaxResources);
  auto width = kNameWidth;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < n; ++i) {
    names.push_back(e.resources[i].what + " (" + shown(e.resources[i].name) + ")");
    width = std::max(width, names.back().size());
  }
  out << fmt::format("{:<{}}{:>8}  {:>10}  {}", "Resource", width + 2, "max", "busy",
                     "busy in 20 intervals of the run, in tenths")
      << "\n";
  for (std::size_t i = 0; i < n; ++i) {
    auto const& r = e.resources[i];
    out << fmt::format("  {:<{}}{:>8}  {:>10}  {}", names[i], width, percent(r.waited), percent(r.busy),
                       digits(r))
        << "\n";
  }
  out << "  max: upper bound on access time attributable to this resource; bounds overlap\n"
         "  busy: share of the run in which the busiest instance was busy, or full with a requester "
         "stalled\n";
}

void print_ranks(analysis::RankUse const& use, std::ostream& out) {
  if (use.ranks < 2) return;
  RankDensity const density{use.ranks, use.events, use.exchanges, use.waited};
  out << "Simulator ranks: " << density.ranks << ", " << text_of(density);
  if (density.sparse()) out << ": too few events per exchange, " << instead_of(density, use.threads);
  out << "\n";
}

void print(Explanation const& e, std::ostream& out) {
  auto const average =
      e.accesses == 0 ? 0.0 : static_cast<double>(e.access_ps) / static_cast<double>(e.accesses);
  out << fmt::format("{}: {} after {}\n", one_line(e.path), shown(e.end_reason),
                     picoseconds_text(static_cast<double>(e.end_ps)));
  if (!e.outstanding.empty()) out << "Outstanding at the end: " << outstanding_text(e) << "\n";
  out << "Bottleneck: " << bound_text(e) << "\n";
  auto with_warps = e.sm_ps;
  for (auto const& p : e.sms)
    if (p.name == kIdle) with_warps -= std::min(p.ps, with_warps);
  out << fmt::format("{:<{}}{:>8}  {:>10}", "SM activity", kNameWidth + 2, "of total", "with warps") << "\n";
  print_parts(
      e.sms, e.sm_ps, with_warps,
      [&](analysis::TimePart const& p) {
        return p.name == kIdle ? std::string() : percent(share(p.ps, with_warps));
      },
      out);
  out << fmt::format("Access time by stage: {} accesses, {} on average\n",
                     for_people(static_cast<double>(e.accesses)), picoseconds_text(average));
  print_parts(
      e.stages, e.access_ps, e.access_ps,
      [&](analysis::TimePart const& p) {
        return e.accesses == 0
                   ? std::string()
                   : picoseconds_text(static_cast<double>(p.ps) / static_cast<double>(e.accesses));
      },
      out);
  print_kernels(e, out);
  if (e.without_kernel >= kShown) {
    out << "Run time with no kernel on any GPU\n";
    print_parts(
        e.gaps, e.end_ps, e.end_ps, [](analysis::TimePart const&) { return std::string(); }, out);
  }
  print_resources(e, out);
  print_throughputs(e.throughputs, out);
  print_ranks(e.ranks, out);
}

// The reason why no kernel was on a GPU, to follow a share of the time.
std::string gap_text(analysis::TimePart const& gap) {
  if (gap.name == "launches") return "for launches and completions in flight";
  if (gap.name == "copies") return "for copies between the host and the GPUs";
  if (gap.name == "allocations") return "for allocations and frees by the driver";
  return "with no operation outstanding";
}

}  // namespace

std::string outstanding_text(Explanation const& e) {
  auto const& operations = e.outstanding;
  constexpr std::size_t kMax = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(operations.size(), kMax); ++i)
    text += fmt::format("{}{}, since {}", i == 0 ? "" : "; ", shown(operations[i].what),
                        picoseconds_text(static_cast<double>(operations[i].started_ps)));
  if (e.outstanding_operations > kMax) text += fmt::format("; {} more", e.outstanding_operations - kMax);
  return text;
}

std::string bound_text(Explanation const& e) {
  auto const idle = "SMs idle " + percent(e.idle) + " of the time";
  auto const idle_note = e.idle >= kHalf ? "; " + idle : std::string();
  if (e.bound == Bound::gaps)
    return "gaps between kernels: no kernel on any GPU " + percent(e.without_kernel) + " of the time, " +
           percent(share(e.gaps.front().ps, e.end_ps)) + " " + gap_text(e.gaps.front());
  auto const first = e.idle >= kHalf ? "occupancy (" + idle + "), then " : std::string();
  if (e.bound == Bound::execution)
    return first + "SM execution: SMs execute " + percent(e.executing) +
           " of the time in which they have warps";
  if (e.bound == Bound::resource || e.bound == Bound::phase) {
    auto const& r = e.resources.front();
    auto const is = r.full.empty() ? "is busy" : shown(r.full);
    auto text = fmt::format("{}: {} {} {} of the time", r.what, shown(r.name), is, percent(r.busy));
    if (e.bound == Bound::phase)
      text =
          fmt::format("{} in one phase: {} is at least 90% busy in {} of 20 intervals, {} over the whole run",
                      r.what, shown(r.name), analysis::busy_parts(r), percent(r.busy));
    if (r.alike > 1) text += fmt::format("; average of all {}: {}", r.alike, percent(r.average));
    return text + idle_note;
  }
  auto text = first + "latency (no resource above 50% utilization)";
  if (e.stages.empty() || e.access_ps == 0) return text;
  bool const ended = e.stages[0].name != "sm_time_outstanding" || e.stages.size() == 1;
  auto const& stage = e.stages[ended ? 0 : 1];
  return text + fmt::format("; {} of access time in: {}", percent(share(stage.ps, e.access_ps)), stage.what);
}

void explain_result(std::string const& file, bool json, std::ostream& out) {
  auto const e = analysis::explain(file);
  if (json)
    out << to_json(e) << "\n";
  else
    print(e, out);
}

}  // namespace farfault::cli
