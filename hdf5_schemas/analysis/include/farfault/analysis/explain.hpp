// SPDX-License-Identifier: Apache-2.0
// Explains the run time: SM activity, time of accesses by stage (total and per kernel), utilization of
// resources, and the bottleneck. Definitions: docs/model/statistics.md, "Bottleneck".
//
// - Resources: components with a busy time (statistics busy_time, walker_busy_time) and bounded buffers
//   (stall statistics: MSHRs, link credits, fault buffers). The busiest instance represents its kind.
// - Throughput: bytes of the whole run divided by its time; the peak is that of the configuration or of the
// link.
// - Limits: kMaxKernels, kMaxOutstanding.
// - Errors: UserError, one sentence, for a file that is not a result or has no summary yet. Untrusted files:
//   reader.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace farfault::analysis {

// A part of a whole, in ps.
struct TimePart {
  std::string name;  // "time_in_links"
  std::string what;  // "interconnect links"
  std::uint64_t ps = 0;
};

struct Resource {
  std::string what;                      // "GMMU page walkers"
  std::string name;                      // the busiest instance: "gpu0.gmmu", "gpu0 to switch0"
  std::uint64_t alike = 0;               // number of instances
  std::string full;                      // bounded buffers only: predicate for "no space left"
  double busy = 0;                       // share of the run in which it worked, or was full
  double average = 0;                    // mean of `busy` over all instances
  double waited = 0;                     // share of access time in the stages that lead to it; shares overlap
  double weight = 0;                     // busy * waited
  std::vector<double> over_time;         // utilization in twentieths of the run; empty: unknown
  std::string over_time_of;              // owner of over_time, if not this resource
  std::vector<std::string> stages = {};  // in which accesses wait for it: "sm_time_in_dram"
};

// Data rate of all instances of a resource, averaged over the run, and their peak.
struct Throughput {
  std::string what;          // "DRAM", "L2 cache", "nvlink links"
  std::string instances;     // "channels", "slices", "directions"
  std::uint64_t alike = 0;   // number of instances
  std::uint64_t bytes = 0;   // in the whole run
  double rate = 0;           // bytes per second
  double peak = 0;           // bytes per second, of all instances
  std::string busiest = {};  // the instance with the largest share of its peak
  double share_of_busiest = 0;

  double share() const { return peak == 0 ? 0.0 : rate / peak; }
};

// An operation that was incomplete at the end of the run.
struct Outstanding {
  std::string what;  // "kernel fir of app0"
  std::uint64_t started_ps = 0;
};

// Kernels of one name, per application if there are several.
struct KernelTime {
  std::string name;            // "bfs_level1", "filter/fir"
  std::uint64_t launches = 0;  // completed
  std::uint64_t ps = 0;        // from launch to end, summed over launches
  std::uint64_t accesses = 0;
  std::uint64_t access_ps = 0;
  std::vector<TimePart> stages = {};  // of its accesses, the longest first; add up to access_ps
};

// The MPI ranks of the simulation: not part of the simulated system.
struct RankUse {
  std::uint64_t ranks = 1;    // 1: the other fields are 0
  std::uint64_t threads = 0;  // per rank
  std::uint64_t events = 0;
  std::uint64_t exchanges = 0;
  double waited = 0;  // share of wall-clock time
};

// The bottleneck; resource, phase: the first of `resources`.
enum class Bound : std::uint8_t { execution, resource, phase, latency, gaps };

struct Explanation {
  std::string path;
  std::string end_reason;
  std::uint64_t end_ps = 0;
  std::uint64_t accesses = 0;
  std::uint64_t access_ps = 0;  // summed over accesses
  std::uint64_t sm_ps = 0;      // summed over SMs
  Bound bound = Bound::latency;
  double executing = 0;                      // share of the time in which SMs had warps
  double idle = 0;                           // share of idle SM time
  std::vector<TimePart> sms;                 // SM time by activity, the longest first
  std::vector<TimePart> stages;              // access time by stage, the longest first
  double without_kernel = 0;                 // share of the run with no kernel on a GPU
  std::vector<TimePart> gaps;                // that time by activity, the longest first
  std::uint64_t outstanding_operations = 0;  // incomplete at the end of a stopped run
  std::vector<Outstanding> outstanding;      // these operations, by stream, at most kMaxOutstanding
  std::uint64_t kernel_names = 0;            // number of names of completed kernels
  std::vector<KernelTime> kernels;           // the longest first, at most kMaxKernels
  // The bottleneck first, then the largest `waited`; only with a weight above 0.
  std::vector<Resource> resources;
  std::vector<Throughput> throughputs;  // of resources that transferred data, from memory to links
  RankUse ranks;
};

inline constexpr std::size_t kMaxKernels = 100;
inline constexpr std::size_t kMaxOutstanding = 100;
Explanation explain(std::string const& path);
// Twentieths of the run in which it was busy for at least nine tenths.
std::size_t busy_parts(Resource const& r);
std::string to_json(Explanation const& e);  // one line, {"kind":"explanation",...}

}  // namespace farfault::analysis
