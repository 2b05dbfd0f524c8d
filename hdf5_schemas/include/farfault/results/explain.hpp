// Why a run took as long as it did: what its SMs did, where the time of an access went, which resources were
// busy, and which of them bounds the run.
//
// A resource is busy for as long as it says itself (statistics busy_time and walker_busy_time); of several
// alike the busiest counts. Its weight is how busy it is times what waited for it: of the time of an access,
// but for that in the load/store unit, where what waits waits for what is behind, the share of the stages
// that lead to the resource. Page walks read memory, so what waits for walks waits for DRAM and the L2 cache
// too.
//
// What bounds the run: the SMs' own execution, where they executed for half of the time that they had warps;
// else the weightiest resource that is busy for half of the run; else, for a phase, the weightiest that is
// busy for nine tenths of at least two twentieths of it; else latency. A resource that bounds the run is the
// first of the list.
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
  std::string what;               // "page walkers"
  std::string name;               // the busiest: "gpu0.gmmu", "gpu0 to switch0"
  std::uint64_t alike = 0;        // how many there are
  double busy = 0;                // share of the run
  double average = 0;             // the same of all alike
  double waited = 0;              // share of the time of an access in its stages
  double weight = 0;              // busy times waited
  std::vector<double> over_time;  // busy, in twentieths of the run; empty: not known
};

enum class Bound : std::uint8_t { execution, resource, phase, latency };

struct Explanation {
  std::string path;
  std::string end_reason;
  std::uint64_t end_ps = 0;
  std::uint64_t accesses = 0;
  std::uint64_t access_ps = 0;  // of all accesses together
  std::uint64_t sm_ps = 0;      // of all SMs together
  Bound bound = Bound::latency;
  double executing = 0;             // share of the time that SMs had warps
  double idle = 0;                  // share of their time that they had none
  std::vector<TimePart> sms;        // what they did, the longest first
  std::vector<TimePart> stages;     // of an access, the longest first
  std::vector<Resource> resources;  // the weightiest first; none that nothing waited for
};

Explanation explain(std::string const& path);
// In how many twentieths of the run it was busy for nine tenths.
std::size_t busy_parts(Resource const& r);
std::string to_json(Explanation const& e);  // one line, {"kind":"explanation",...}

}  // namespace farfault::results
