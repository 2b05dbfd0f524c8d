// SPDX-License-Identifier: Apache-2.0
// Why a run took as long as it did: what its SMs did, where the time of an access went, of all of it and of
// each kernel, which resources were busy, and which of them bounds the run.
//
// A resource is busy for as long as it says itself (statistics busy_time and walker_busy_time). What has room
// for a number of things, MSHRs, credits of a link, fault buffers, is a resource too: it counts as busy while
// it is full and something waits for room (statistics of waiting). Of several alike the worst counts. Its
// weight is how busy it is times what waited for it: of the time of an access, but for that in the load/store
// unit, where what waits waits for what is behind, the share of the stages that lead to the resource. Page
// walks read memory, so what waits for walks waits for DRAM and the L2 cache too: shares of several resources
// overlap. What the load/store unit itself waits for has its time, of all time of accesses.
//
// What bounds the run: the gaps between kernels, where none was on a GPU for half of the run; else the SMs'
// own execution, where they executed for half of the time that they had warps; else the weightiest resource
// that works for half of the run; else the weightiest that is full for half of it, where a tenth of the time
// waits there (what is full because of something busy behind it is its effect); else, for a phase, the
// weightiest that works for nine tenths of at least two twentieths of it; else latency. A resource that
// bounds the run is the first of the list.
//
// Errors: UserError, one sentence, for a file that is no result, or one that has no summary yet. Untrusted
// files are read as by all readers (reader.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace farfault::results {

// A part of a whole, in ps.
struct TimePart {
  std::string name;  // "time_in_links"
  std::string what;  // "links between devices"
  std::uint64_t ps = 0;
};

struct Resource {
  std::string what;         // "page walkers"
  std::string name;         // the busiest: "gpu0.gmmu", "gpu0 to switch0"
  std::uint64_t alike = 0;  // how many there are
  std::string full;         // of what has room for a number of things, how to say that there is none left
  double busy = 0;          // share of the run: that it worked, or was full
  double average = 0;       // the same of all alike
  double waited = 0;        // share of the time of an access in its stages
  double weight = 0;        // busy times waited
  std::vector<double> over_time;  // busy, in twentieths of the run; empty: not known
  std::string over_time_of;       // whose that is, where not its own
};

// What had not ended at the end of the run.
struct UnderWay {
  std::string what;  // "kernel fir of app0"
  std::uint64_t started_ps = 0;
};

// What ran under one name, of one application where there are several.
struct KernelTime {
  std::string name;            // "bfs_level1", "filter/fir"
  std::uint64_t launches = 0;  // that have ended
  std::uint64_t ps = 0;        // from launch to end, of all of them together
  std::uint64_t accesses = 0;
  std::uint64_t access_ps = 0;
  std::vector<TimePart> stages = {};  // of its accesses, the longest first; they add up to access_ps
};

// The MPI ranks that simulated it, not part of what was simulated.
struct RankUse {
  std::uint64_t ranks = 1;    // the others are 0 for one
  std::uint64_t threads = 0;  // of each
  std::uint64_t events = 0;
  std::uint64_t exchanges = 0;
  double waited = 0;  // share of the wall-clock time
};

enum class Bound : std::uint8_t { execution, resource, phase, latency, gaps };

struct Explanation {
  std::string path;
  std::string end_reason;
  std::uint64_t end_ps = 0;
  std::uint64_t accesses = 0;
  std::uint64_t access_ps = 0;  // of all accesses together
  std::uint64_t sm_ps = 0;      // of all SMs together
  Bound bound = Bound::latency;
  double executing = 0;                    // share of the time that SMs had warps
  double idle = 0;                         // share of their time that they had none
  std::vector<TimePart> sms;               // what they did, the longest first
  std::vector<TimePart> stages;            // of an access, the longest first
  double without_kernel = 0;               // share of the run in which none was on a GPU
  std::vector<TimePart> gaps;              // of the run, that time by what went on, the longest first
  std::uint64_t operations_under_way = 0;  // at the end of a run that was stopped
  std::vector<UnderWay> under_way;         // these, stream by stream, at most kMostUnderWay
  std::uint64_t kernel_names = 0;          // how many names the kernels that have ended have
  std::vector<KernelTime> kernels;         // the longest first, at most kMostKernels
  std::vector<Resource> resources;         // the weightiest first; none that nothing waited for
  RankUse ranks;
};

inline constexpr std::size_t kMostKernels = 100;
inline constexpr std::size_t kMostUnderWay = 100;
Explanation explain(std::string const& path);
// In how many twentieths of the run it was busy for nine tenths.
std::size_t busy_parts(Resource const& r);
std::string to_json(Explanation const& e);  // one line, {"kind":"explanation",...}

}  // namespace farfault::results
