// SPDX-License-Identifier: Apache-2.0
// The time with no kernel on a GPU, by the activity of the host, from the host's tables.
#include <algorithm>
#include <array>

#include "explain_resources.hpp"
#include "outstanding.hpp"
#include "time_parts.hpp"

namespace farfault::analysis {
namespace {

// Activities by priority: simultaneous activities count as the first one; kOther is time without any of them.
constexpr std::size_t kOnGpus = 0, kCopies = 1, kAllocations = 2, kLaunches = 3, kOther = 4;
constexpr std::array<Named, 4> kNames{{{"copies", "copies between host and GPUs"},
                                       {"allocations", "allocations and releases"},
                                       {"launches", "launch and completion latency"},
                                       {"else", "no operation, or other host work"}}};

struct Change {
  std::uint64_t time = 0;
  std::size_t activity = 0;
  bool begins = false;
};

class Timeline {
 public:
  void add(std::size_t activity, std::vector<std::uint64_t> const& from,
           std::vector<std::uint64_t> const& to) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i] >= to[i]) continue;
      changes_.push_back({from[i], activity, true});
      changes_.push_back({to[i], activity, false});
      last_ = std::max(last_, to[i]);
    }
  }
  std::uint64_t last() const { return last_; }
  // Time of each activity until `end`, excluding time of activities with higher priority.
  std::array<std::uint64_t, kOther + 1> times(std::uint64_t end) {
    std::ranges::sort(changes_, {}, &Change::time);
    std::array<std::uint64_t, kOther + 1> times{};
    std::array<std::uint64_t, kOther> outstanding{};
    std::uint64_t now = 0;
    auto const advance = [&](std::uint64_t to) {
      to = std::min(to, end);
      if (to <= now) return;
      auto const first = std::ranges::find_if(outstanding, [](std::uint64_t n) { return n != 0; });
      times[static_cast<std::size_t>(first - outstanding.begin())] += to - now;
      now = to;
    };
    for (auto const& c : changes_) {
      advance(c.time);
      outstanding[c.activity] += c.begins ? 1 : std::uint64_t(-1);
    }
    advance(end);
    return times;
  }

 private:
  std::vector<Change> changes_;
  std::uint64_t last_ = 0;
};

}  // namespace

std::vector<TimePart> read_gaps(ObjectId file, std::uint64_t end, bool completed) {
  Timeline line;
  if (!has(file, "tables/kernels") || !has(file, "tables/kernels/reached_gpus") ||
      !has(file, "tables/kernels/left_gpus"))
    return {};
  auto const add = [&](std::size_t activity, std::string const& table, char const* from, char const* to) {
    if (!has(file, "tables/" + table)) return;
    auto const rows = shape_of_dataset(open_dataset(file, "tables/" + table + "/" + from)).rows();
    line.add(activity, words(file, "tables/" + table + "/" + from, rows),
             words(file, "tables/" + table + "/" + to, rows));
  };
  add(kOnGpus, "kernels", "reached_gpus", "left_gpus");
  auto const outstanding = read_outstanding(file);
  for (auto const& o : outstanding) {
    bool const is_kernel = o.operation == "kernel";
    bool const copies = o.operation == "to_gpus" || o.operation == "to_host";
    if (is_kernel) line.add(kOnGpus, {o.reached}, {end});
    line.add(is_kernel ? kLaunches : copies ? kCopies : kAllocations, {o.started}, {end});
  }
  if (line.last() == 0) return {};  // no operation with a known start
  add(kLaunches, "kernels", "launched", "finished");
  add(kCopies, "copies", "started", "finished");
  add(kAllocations, "allocations", "started", "finished");
  // Results of earlier versions do not record operations that were incomplete at the end of a stopped run.
  auto const times = line.times(completed ? end : std::min(end, line.last()));
  std::vector<TimePart> gaps;
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (times[i + 1] != 0) gaps.push_back({kNames[i].name, kNames[i].what, times[i + 1]});
  return gaps;
}

}  // namespace farfault::analysis
