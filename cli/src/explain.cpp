// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>

#include "farfault/cli/progress.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/results/explain.hpp"

namespace farfault::cli {
namespace {

using results::Bound;
using results::Explanation;

constexpr double kShown = 0.005;  // smaller shares are left out
constexpr double kHalf = 0.5;     // a resource that is busy for less does not bound a run by itself
constexpr int kNameWidth = 44;
constexpr std::size_t kMostResources = 4;

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent(double x) {
  return fmt::format("{:.1f} %", 100 * x);
}

std::string bar(double x) {
  return std::string(static_cast<std::size_t>(std::lround(std::clamp(x, 0.0, 1.0) * 30)), '#');
}

// Tenths of full use, a digit for each part of the run: "0139999".
std::string digits(results::Resource const& r) {
  if (r.over_time.empty()) return "when is not recorded";
  std::string text;
  for (auto const x : r.over_time)
    text += static_cast<char>('0' + std::min(9, static_cast<int>(std::clamp(x, 0.0, 1.0) * 10)));
  return r.over_time_of.empty() ? text : text + " (" + shown(r.over_time_of) + ")";
}

std::string picoseconds_text(double ps) {
  return for_people(Duration{static_cast<std::int64_t>(ps)});
}

void print_parts(std::vector<results::TimePart> const& parts, std::uint64_t whole, std::uint64_t count,
                 std::ostream& out) {
  for (auto const& p : parts) {
    auto const x = share(p.ps, whole);
    if (x < kShown) continue;
    auto const each =
        count == 0 ? std::string() : picoseconds_text(static_cast<double>(p.ps) / static_cast<double>(count));
    out << fmt::format("  {:<{}}{:>8}  {:>9}  {}", p.what, kNameWidth, percent(x), each, bar(x)) << "\n";
  }
}

std::string under_way_text(std::vector<results::UnderWay> const& operations) {
  constexpr std::size_t kMost = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(operations.size(), kMost); ++i)
    text += fmt::format("{}{}, since {}", i == 0 ? "" : "; ", shown(operations[i].what),
                        picoseconds_text(static_cast<double>(operations[i].started_ps)));
  if (operations.size() > kMost) text += fmt::format("; {} more", operations.size() - kMost);
  return text;
}

void print(Explanation const& e, std::ostream& out) {
  auto const average =
      e.accesses == 0 ? 0.0 : static_cast<double>(e.access_ps) / static_cast<double>(e.accesses);
  out << fmt::format("{}: {} after {}\n", one_line(e.path), shown(e.end_reason),
                     picoseconds_text(static_cast<double>(e.end_ps)));
  if (!e.under_way.empty()) out << "under way at the end: " << under_way_text(e.under_way) << "\n";
  out << "bound by " << bound_text(e) << "\n";
  out << "what SMs did, of their time\n";
  print_parts(e.sms, e.sm_ps, 0, out);
  out << fmt::format("where the time of an access went: {} accesses of {} on average\n",
                     for_people(static_cast<double>(e.accesses)), picoseconds_text(average));
  print_parts(e.stages, e.access_ps, e.accesses, out);
  if (e.without_kernel >= kShown) {
    out << "while no kernel was on a GPU, of the run\n";
    print_parts(e.gaps, e.end_ps, 0, out);
  }
  if (e.resources.empty()) return;
  out << fmt::format("{:<{}}{:>8}  {:>9}  {}\n", "what accesses could wait for", kNameWidth + 2, "up to",
                     "busy", "in each twentieth of the run, in tenths");
  for (std::size_t i = 0; i < std::min(e.resources.size(), kMostResources); ++i) {
    auto const& r = e.resources[i];
    out << fmt::format("  {:<{}}{:>8}  {:>9}  {}", r.what + " (" + shown(r.name) + ")", kNameWidth,
                       percent(r.waited), percent(r.busy), digits(r))
        << "\n";
  }
  out << "  up to: time of accesses in all stages that lead there; a stage may lead to several, so these "
         "overlap\n"
         "  busy: share of the run in which the worst of its kind was busy, or was full while something "
         "waited for it\n";
}

// Why no kernel was on a GPU, to follow a share of the time.
std::string gap_text(results::TimePart const& gap) {
  if (gap.name == "launches") return "for launches on their way there, or word of their end on its way back";
  if (gap.name == "copies") return "for copies between the host and the GPUs";
  if (gap.name == "allocations") return "for the driver to allocate and free";
  return "with no operation under way";
}

}  // namespace

std::string bound_text(Explanation const& e) {
  auto const idle = "SMs are without a warp " + percent(e.idle) + " of the time";
  auto const beside = e.idle >= kHalf ? ", while " + idle : std::string();
  if (e.bound == Bound::gaps)
    return "gaps between kernels: no kernel is on a GPU " + percent(e.without_kernel) + " of the time, " +
           percent(share(e.gaps.front().ps, e.end_ps)) + " " + gap_text(e.gaps.front());
  auto const first = e.idle >= kHalf ? "too little work (" + idle + "), and then by " : std::string();
  if (e.bound == Bound::execution)
    return first + "the SMs themselves: they execute " + percent(e.executing) +
           " of the time that they have warps";
  if (e.bound == Bound::resource || e.bound == Bound::phase) {
    auto const& r = e.resources.front();
    auto const is = r.full.empty() ? "is busy" : shown(r.full);
    auto text = fmt::format("{}: {} {} {} of the time", r.what, shown(r.name), is, percent(r.busy));
    if (e.bound == Bound::phase)
      text = fmt::format("{} for a phase: {} is busy all along in {} of 20 parts of the run, {} of all of it",
                         r.what, shown(r.name), results::busy_parts(r), percent(r.busy));
    if (r.alike > 1) text += fmt::format(", all {} are {} on average", r.alike, percent(r.average));
    return text + beside;
  }
  auto text = first + "latency: nothing is busy for half of the run";
  if (e.stages.empty() || e.access_ps == 0) return text;
  bool const ended = e.stages[0].name != "sm_time_under_way" || e.stages.size() == 1;
  auto const& stage = e.stages[ended ? 0 : 1];
  return text + fmt::format("; {} of the time of an access goes to: {}",
                            percent(share(stage.ps, e.access_ps)), stage.what);
}

void explain_result(std::string const& file, bool json, std::ostream& out) {
  auto const e = results::explain(file);
  if (json)
    out << to_json(e) << "\n";
  else
    print(e, out);
}

}  // namespace farfault::cli
