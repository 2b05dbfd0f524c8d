// SPDX-License-Identifier: Apache-2.0
#include "host_timeline.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "explain_reading.hpp"
#include "outstanding.hpp"

namespace farfault::analysis {
namespace {

std::string const kKernelTable = "tables/kernels";
constexpr char const* kFurtherKernels = "further kernels";

// Joins the texts of the columns that both tables have.
std::vector<std::string> joined_names(ObjectId file, std::string const& table, std::uint64_t rows) {
  std::vector<std::string> names(rows);
  for (auto const* column : {"machine", "application", "name"}) {
    if (!has(file, kKernelTable + "/" + column) || !has(file, table + "/" + column)) continue;
    auto const words = texts(file, table + "/" + column);
    if (words.size() != rows) throw Hdf5Failure(table + "/" + column + " does not have one text per row");
    for (std::size_t i = 0; i < rows; ++i) names[i] += (names[i].empty() ? "" : "/") + words[i];
  }
  return names;
}

// Numbers the names of kernels in the order of their first use.
class KernelKeys {
 public:
  explicit KernelKeys(std::vector<KernelUse>& kernels) : kernels_(kernels) {}
  std::size_t of(std::string const& name) {
    if (auto const known = numbers_.find(name); known != numbers_.end()) return known->second;
    bool const fits = kernels_.size() < kMaxKernelNames;
    auto const& key = fits ? name : std::string(kFurtherKernels);
    auto const [at, is_new] = numbers_.try_emplace(key, kernels_.size());
    if (is_new) kernels_.push_back({.name = key});
    return at->second;
  }

 private:
  std::vector<KernelUse>& kernels_;
  std::map<std::string, std::size_t> numbers_;
};

// Begins and ends of operations until `end`.
class Sweep {
 public:
  explicit Sweep(std::uint64_t end) : end_(end) {}

  void add_kernel(std::size_t kernel, std::uint64_t from, std::uint64_t to) {
    if (add(kOnGpus, from, to)) {
      changes_[changes_.size() - 2].use = changes_.back().use = uses_.size();
      uses_.push_back({kernel, 0, 0});
    }
  }
  // True if the operation takes time before the end.
  bool add(std::size_t activity, std::uint64_t from, std::uint64_t to) {
    if (from >= to) return false;
    last_ = std::max(last_, to);
    if (from >= end_) return false;
    changes_.push_back({from, activity, 0, true});
    changes_.push_back({std::min(to, end_), activity, 0, false});
    return true;
  }
  std::uint64_t last() const { return last_; }

  // Adds the time until `until`.
  void measure(std::uint64_t until, HostTimeline& into) {
    std::ranges::sort(changes_, {}, [](Change const& c) { return std::tuple(c.time, c.begins, c.use); });
    std::uint64_t first_kernel = until, last_kernel = 0;
    for (auto const& c : changes_)
      if (c.activity == kOnGpus) {
        first_kernel = std::min(first_kernel, c.time);
        last_kernel = std::max(last_kernel, c.time);
      }
    std::array<std::uint64_t, kOnGpus + 1> outstanding{};
    std::uint64_t now = 0;
    auto const advance = [&](std::uint64_t to) {
      to = std::min(to, until);
      if (to <= now) return;
      if (outstanding[kOnGpus] != 0) {
        share(to - now, outstanding[kOnGpus]);
      } else {
        auto const place = to <= first_kernel ? 0U : now >= last_kernel ? 2U : 1U;
        std::size_t activity = 0;
        while (activity < kOtherWork && outstanding[activity] == 0) ++activity;
        into.gaps[place][activity] += to - now;
      }
      now = to;
    };
    for (auto const& c : changes_) {
      advance(c.time);
      auto& n = outstanding[c.activity];
      c.begins ? ++n : --n;
      if (c.activity == kOnGpus) c.begins ? begin(uses_[c.use]) : end(uses_[c.use], n, into);
    }
    advance(until);
  }

 private:
  static constexpr std::size_t kOnGpus = kOtherWork;

  struct Change {
    std::uint64_t time = 0;
    std::size_t activity = 0;
    std::size_t use = 0;  // of a kernel: index in uses_
    bool begins = false;
  };
  // A kernel on the GPUs, and the sums at its begin.
  struct Use {
    std::size_t kernel = 0;
    std::uint64_t level = 0, shared = 0;
  };

  // Each of `kernels` gets the same whole number; the rest is carried over to the next interval.
  void share(std::uint64_t ps, std::uint64_t kernels) {
    auto const whole = ps + carry_;
    level_ += whole / kernels;
    if (kernels > 1) shared_ += whole / kernels;
    carry_ = whole % kernels;
  }
  void begin(Use& use) const {
    use.level = level_;
    use.shared = shared_;
  }
  void end(Use const& use, std::uint64_t remaining, HostTimeline& into) {
    auto& kernel = into.kernels[use.kernel];
    kernel.on_gpus += level_ - use.level;
    kernel.shared += shared_ - use.shared;
    if (remaining == 0) kernel.on_gpus += std::exchange(carry_, 0);
  }

  std::uint64_t end_;
  std::uint64_t last_ = 0;
  std::vector<Change> changes_;
  std::vector<Use> uses_;
  std::uint64_t level_ = 0, shared_ = 0, carry_ = 0;  // time of a kernel that ran from the beginning
};

void add_operations(ObjectId file, std::string const& table, char const* from, char const* to,
                    std::size_t activity, Sweep& sweep, std::uint64_t& number) {
  if (!has(file, table)) return;
  auto const rows = shape_of_dataset(open_dataset(file, table + "/" + from)).rows();
  auto const begins = words(file, table + "/" + from, rows), ends = words(file, table + "/" + to, rows);
  for (std::size_t i = 0; i < rows; ++i) sweep.add(activity, begins[i], ends[i]);
  number += rows;
}

}  // namespace

std::vector<std::size_t> kernels_of_rows(ObjectId file, std::string const& table, HostTimeline const& line,
                                         std::uint64_t rows) {
  std::map<std::string_view, std::size_t> known;
  for (std::size_t i = 0; i < line.kernels.size(); ++i) known.try_emplace(line.kernels[i].name, i);
  auto const further = known.find(kFurtherKernels);
  std::vector<std::size_t> kernels;
  for (auto const& name : joined_names(file, table, rows)) {
    auto const found = known.find(name);
    if (found == known.end() && further == known.end()) return {};
    kernels.push_back(found == known.end() ? further->second : found->second);
  }
  return kernels;
}

std::vector<std::string> kernel_names(ObjectId file, std::uint64_t rows) {
  return joined_names(file, kKernelTable, rows);
}

std::optional<HostTimeline> read_timeline(ObjectId file, std::uint64_t end, bool completed) {
  if (!has(file, kKernelTable) || !has(file, kKernelTable + "/reached_gpus") ||
      !has(file, kKernelTable + "/left_gpus"))
    return std::nullopt;
  HostTimeline line;
  Sweep sweep(end);
  KernelKeys keys(line.kernels);
  auto const rows = shape_of_dataset(open_dataset(file, kKernelTable + "/reached_gpus")).rows();
  auto const reached = words(file, kKernelTable + "/reached_gpus", rows),
             left = words(file, kKernelTable + "/left_gpus", rows);
  auto const names = kernel_names(file, rows);
  for (std::size_t i = 0; i < rows; ++i) {
    auto const kernel = keys.of(names[i]);
    line.kernel_of_row.push_back(kernel);
    ++line.kernels[kernel].launches;
    sweep.add_kernel(kernel, reached[i], left[i]);
  }
  auto const outstanding = read_outstanding(file);
  auto const names_of_outstanding = outstanding.empty()
                                        ? std::vector<std::string>()
                                        : joined_names(file, "tables/outstanding", outstanding.size());
  for (std::size_t i = 0; i < outstanding.size(); ++i) {
    auto const& o = outstanding[i];
    if (o.operation == "kernel") {
      auto const kernel = keys.of(names_of_outstanding[i]);
      ++line.kernels[kernel].incomplete;
      ++line.launches;
      sweep.add_kernel(kernel, o.reached, end);
      sweep.add(kLaunches, o.started, end);
    } else {
      bool const copies = o.operation == "to_gpus" || o.operation == "to_host";
      ++(copies ? line.copies : line.allocations);
      sweep.add(copies ? kCopies : kAllocations, o.started, end);
    }
  }
  line.recorded = sweep.last() != 0;
  add_operations(file, kKernelTable, "launched", "finished", kLaunches, sweep, line.launches);
  add_operations(file, "tables/copies", "started", "finished", kCopies, sweep, line.copies);
  add_operations(file, "tables/allocations", "started", "finished", kAllocations, sweep, line.allocations);
  // Results of earlier versions do not record operations that were incomplete at the end of a stopped run.
  auto const until = completed ? end : std::min(end, sweep.last());
  sweep.measure(until, line);
  line.unrecorded = end - until;
  return line;
}

}  // namespace farfault::analysis
