// SPDX-License-Identifier: Apache-2.0
// Explains why the end of run B differs from the end of run A, the reference. Definitions:
// docs/model/statistics.md, "Change of two results".
//
// - Exact: the parts (kernels, and gaps between kernels) add up to the change of the end, in ps. So do the
//   causes, and so do the rows of each table with its `rest`.
// - The time of kernels is attributed to causes by a model (`Cause::modelled`): average SMs of one GPU, and
//   Little's law for their outstanding accesses. The sums hold in any case.
// - Antisymmetric: with A and B exchanged, each part and each cause has the opposite sign.
// - Limits: kMaxKernels kernels have stages; kernels beyond kMaxKernelParts are one part.
// - Errors: UserError, one sentence, for a file that is not a result, has no summary yet, or lacks the times
//   of kernels. Untrusted files: reader.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "farfault/analysis/explain.hpp"

namespace farfault::analysis {

struct PairedRun {
  std::string path;
  std::string end_reason;
  std::string farfault_version;
  std::string commit;  // empty: not recorded
  std::uint64_t end_ps = 0;
  std::uint64_t on_gpus_ps = 0;  // time with a kernel on a GPU
  std::uint64_t launches = 0;    // of kernels, incomplete ones included
};

// A parameter, or the content of an input file, that differs.
struct PairSetting {
  std::string name;
  std::string a, b;        // "none": missing
  bool follows = false;    // only one run has it, so it follows from another setting
  bool unreached = false;  // a limit that no access reached in either run
};

// A figure of both runs.
struct PairFigure {
  double a = 0;
  double b = 0;
};

// The time of accesses in a stage: of a kernel, or of the modelled GPU.
struct StageChange {
  std::string name;       // "sm_time_in_links"
  std::string what;       // "interconnect links"
  PairFigure per_access;  // ps
  std::int64_t ps = 0;    // of the change of the end; of a kernel: by a model of this kernel alone
};

// The kernels of one name, or the gaps of one place and activity.
struct PartChange {
  std::string kind;  // "kernel", "gap"
  std::string name;  // "bfs_level1"; of a gap: "start.launches"
  std::string what;  // "kernel bfs_level1", "launch and completion latency before the first kernel"
  std::uint64_t a_ps = 0;
  std::uint64_t b_ps = 0;
  std::int64_t ps = 0;  // b_ps - a_ps
  // Kernels only:
  std::uint64_t a_launches = 0, b_launches = 0;    // incomplete ones included
  std::uint64_t a_shared_ps = 0, b_shared_ps = 0;  // in which other kernels also ran; divided equally
  // The kernels with the largest changes only; of their completed launches:
  std::uint64_t a_accesses = 0, b_accesses = 0;
  std::vector<StageChange> stages = {};  // the largest change per access first
};

struct Cause {
  std::string name;  // "walk_queue_time"
  std::string what;  // "page-walk queue"
  std::string per;   // "per L2 TLB miss", "of L1 TLB misses"; empty: a total
  std::string unit;  // of the figure: "ps", "1", "ratio" (a share of `per`)
  PairFigure figure;
  std::int64_t ps = 0;                     // of the change of the end
  bool modelled = false;                   // false: measured
  std::vector<std::size_t> settings = {};  // that act on it: indices in PairExplanation::settings
  bool indirect = false;                   // they act on other causes, and this one is a consequence
  // The resource whose utilization changed most in the same direction; empty: none.
  std::string resource = {};
  std::string resource_name = {};  // its busiest instance in the slower run
  PairFigure busy = {};
};

// The causes on which the same differing parameters act.
struct CauseGroup {
  std::vector<std::size_t> settings;  // empty: no differing parameter is known to act on these causes
  std::vector<std::size_t> causes;    // the largest first
  std::int64_t ps = 0;
};

// An activity of the SMs of the modelled GPU.
struct ActivityChange {
  std::string name;   // "sm_memory_stall_time"
  std::string what;   // "memory stall"
  PairFigure per_sm;  // ps
  std::int64_t ps = 0;
};

// Accesses of the modelled GPU by the level that translated them; the counts add up to its accesses.
struct SourceChange {
  std::string name;  // "iommu_translations"
  std::string what;  // "IOMMU"
  std::uint64_t a = 0, b = 0;
  std::int64_t ps = 0;  // of the stages of this level; levels above it are not included
};

struct ResourceChange {
  std::string what;            // "GMMU page walkers"
  std::string a_name, b_name;  // busiest instances
  PairFigure busy;
  PairFigure max;        // upper bound of the access time that the resource explains, as in explain()
  std::int64_t ps = 0;   // of the stages that lead to it; stages overlap
  bool matters = false;  // `ps` is at least kMatters of the end
};

// A figure that changed at least kLargeChange times, but the end by less than kMatters.
struct IdleChange {
  std::string what;  // "time in: IOMMU"
  std::string unit;  // as Cause::unit
  PairFigure figure;
  std::int64_t ps = 0;
};

struct PairExplanation {
  PairedRun a, b;
  std::int64_t change_ps = 0;  // of the end
  // The change is modelled, and smaller than kMatters of the end: shares of it mean nothing.
  bool below_resolution = false;
  std::string caveat;                 // a reason why the ends do not compare equal work; empty: none
  std::string gpu;                    // the modelled GPU, or "the last GPUs" of the kernels; empty: not split
  std::string not_split;              // the reason why kernel time is not split; empty: it is
  std::vector<PairSetting> settings;  // first the settings that both runs have
  std::vector<PartChange> parts;      // the largest change first, unchanged ones last
  std::vector<Cause> causes;          // the largest first; without zeros
  std::vector<CauseGroup> groups;     // the largest first; add up to the change
  // Each with the change of the end that its rows do not contain.
  std::vector<ActivityChange> sms;
  std::int64_t sms_rest_ps = 0;
  std::vector<StageChange> stages;
  std::int64_t stages_rest_ps = 0;
  std::vector<SourceChange> sources;
  std::vector<ResourceChange> resources;  // the largest change of utilization first
  std::vector<IdleChange> idle;           // changed without effect, the largest factor first
};

inline constexpr std::size_t kMaxKernelParts = 1000;
inline constexpr double kMatters = 0.01;     // share of the end of A or B, the larger one
inline constexpr double kLargeChange = 1.5;  // factor

PairExplanation explain_pair(std::string const& a, std::string const& b);
// The first cause with the sign of the change; nullptr if there is none.
Cause const* first_cause(PairExplanation const& e);
std::string to_json(PairExplanation const& e);  // one line, {"kind":"pair_explanation",...}

}  // namespace farfault::analysis
