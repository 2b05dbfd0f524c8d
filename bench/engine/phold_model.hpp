// SPDX-License-Identifier: Apache-2.0
// PHOLD: logical processes that forward events to a uniformly drawn process or to themselves, the standard
// load of engine comparisons (Fujimoto 1990; delays as in ROSS' model: lookahead plus an
// exponential).
//
// Time unit of the parameters: one microsecond of simulated time.
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "farfault/engine/engine.hpp"

namespace farfault::phold {

struct Parameters {
  std::uint32_t processes = 1024;
  std::uint32_t start_events = 4;
  double remote = 0.25;    // fraction of events sent to a uniformly drawn process
  double lookahead = 0.1;  // us
  double mean = 1.0;       // us: mean delay, the lookahead included
  double skew = 0.0;       // fraction of remote events sent to the first 1/16 of the processes
};

struct Token {
  std::uint64_t hops;
};

struct ProcessSpec {
  Parameters const* parameters = nullptr;
  std::uint32_t index = 0;
};

struct ProcessState {
  std::uint64_t random = 0;
  std::uint64_t handled = 0;
};

inline constexpr double kPicosecondsPerUnit = 1e6;

class Process final : public Component<ProcessSpec, ProcessState> {
 public:
  using Component::Component;
  In<Token> token_in = in<&Process::on_token>("in");
  Out<Token> token_out = out<Token>("out");
  Self<Token> own = timer<&Process::on_token>("self");

  std::string_view kind() const override { return "process"; }
  ProcessState initial() const override { return {.random = (spec().index + 1) * 0x9E3779B97F4A7C15ULL}; }

  void on_token(Token const& token, Cx& cx) const {
    auto const hop = next_hop(cx.state(), *spec().parameters, spec().index);
    cx.send(token_out, hop.to, Token{token.hops + 1}, hop.extra);
  }

  struct Hop {
    std::uint32_t to;
    Duration extra;
  };
  static Hop next_hop(ProcessState& s, Parameters const& p, std::uint32_t index) {
    ++s.handled;
    Hop hop{index, {}};
    bool const remote = uniform(s.random) <= p.remote;
    std::uint64_t range = p.processes;
    if (p.skew > 0 && remote && uniform(s.random) <= p.skew) range = range / 16 + 1;
    // Drawn in any case and used if remote: a branch would be mispredicted for about one event in four.
    auto after = s.random;
    auto const drawn = static_cast<std::uint32_t>((static_cast<Wide>(draw(after)) * range) >> 64);
    hop.to = remote ? drawn : index;
    s.random = remote ? after : s.random;
    hop.extra = delay(s.random, p);
    return hop;
  }

  static Duration lookahead(Parameters const& p) {
    return Duration{static_cast<std::int64_t>(p.lookahead * kPicosecondsPerUnit)};
  }
  static Duration delay(std::uint64_t& random, Parameters const& p) {
    return Duration{
        static_cast<std::int64_t>(-std::log(uniform(random)) * (p.mean - p.lookahead) * kPicosecondsPerUnit)};
  }

 private:
  __extension__ using Wide = unsigned __int128;

  static std::uint64_t draw(std::uint64_t& s) {  // xorshift64*
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return s * 0x2545F4914F6CDD1DULL;
  }
  static double uniform(std::uint64_t& s) {
    auto const bits = static_cast<std::int64_t>(draw(s) >> 11);  // signed: converts in one instruction
    return static_cast<double>(bits + 1) * (1.0 / 9007199254740993.0);
  }
};

// The processes, connected all to all, with their first events; partition i holds a contiguous block of
// processes.
class Model {
 public:
  explicit Model(Parameters p) : parameters_(p) {
    std::vector<In<Token>> ins;
    std::vector<Process*> all;
    for (std::uint32_t i = 0; i < p.processes; ++i) {
      all.push_back(&system.add<Process>("p" + std::to_string(i), {&parameters_, i}));
      ins.push_back(all.back()->token_in);
    }
    auto const family = system.family(ins);
    for (auto* process : all) {
      system.connect(process->token_out, family, Latency{Process::lookahead(p)});
      std::uint64_t random = (process->spec().index + 1) * 0xD1B54A32D192ED03ULL;
      for (std::uint32_t k = 0; k < p.start_events; ++k)
        system.post(process->own, Token{0}, Time{Process::lookahead(p) + Process::delay(random, p)});
    }
  }

  // A hash of the processes on this rank; the sum over ranks does not depend on placement.
  std::uint64_t digest() const {
    std::uint64_t sum = 0;
    for (ComponentId id = 0; id < system.component_count(); ++id) {
      auto const& process = static_cast<Process const&>(system.component(id));
      if (process.has_state()) sum += process_digest(id, process.state());
    }
    return sum;
  }
  static std::uint64_t process_digest(std::uint32_t index, ProcessState const& s) {
    Hasher hasher;
    hasher.mix(index);
    hasher.mix(s.random);
    hasher.mix(s.handled);
    return hasher.value();
  }

  Placement placement(std::uint32_t partitions) const {
    Placement placement;
    placement.partitions = partitions;
    for (std::uint64_t i = 0; i < parameters_.processes; ++i)
      placement.partition_of.push_back(static_cast<std::uint32_t>(i * partitions / parameters_.processes));
    return placement;
  }

  System system;

 private:
  Parameters parameters_;
};

}  // namespace farfault::phold
