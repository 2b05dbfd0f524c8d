// SPDX-License-Identifier: Apache-2.0
// Statistics that exist only in some configurations, declared with their condition.
#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "farfault/engine/system.hpp"

namespace conditional_stats_test {

using namespace farfault;

namespace {

struct BufferSpec {
  bool keeps = false;
  std::uint32_t depth = 1;
  std::vector<std::string> applications = {"a", "b"};
  bool queues() const { return depth > 1; }
};

struct BufferCounts {
  std::uint64_t reads = 0;
  std::uint64_t kept = 0;
  std::uint64_t writes = 0;
  static std::span<Stat<BufferCounts> const> list() {
    using S = BufferCounts const&;
    static constexpr auto all = std::to_array<Stat<BufferCounts>>({
        {"reads", "count", "Reads", StatKind::counter, [](S s) { return s.reads; }},
        Stat<BufferCounts>{"kept", "count", "Kept entries", StatKind::counter, [](S s) { return s.kept; }}
            .only_when<&BufferSpec::keeps>(),
        {"writes", "count", "Writes", StatKind::counter, [](S s) { return s.writes; }},
    });
    return all;
  }
};

struct BufferState {
  ByApplication<BufferCounts> counts{2};
  std::uint64_t queued = 5;
  std::uint64_t full = 6;
  std::array<std::uint64_t, 2> depths{7, 8};
  static std::span<Stat<BufferState> const> list() {
    using S = BufferState const&;
    static constexpr auto all = std::to_array<Stat<BufferState>>({
        Stat<BufferState>{"depths", "count", "Depths", StatKind::histogram, nullptr, 2,
                          [](S s) { return std::span<std::uint64_t const>(s.depths); }}
            .only_when<&BufferSpec::queues>(),
        {"queued", "count", "Queued", StatKind::counter, [](S s) { return s.queued; }},
        Stat<BufferState>{"full", "count", "Full", StatKind::counter, [](S s) { return s.full; }}
            .only_when<&BufferSpec::keeps>(),
    });
    return all;
  }
};

class Buffer final : public Component<BufferSpec, BufferState> {
 public:
  using Component::Component;
  std::string_view kind() const override { return "buffer"; }
  ApplicationStats application_stats() const override {
    return counted_by_application<&BufferState::counts>(spec().applications);
  }
  BufferState initial() const override {
    BufferState s;
    s.counts[0] = {1, 2, 3};
    s.counts[1] = {10, 20, 30};
    return s;
  }
};

// "name=value value ..." of each statistic, group by group.
std::vector<std::string> sampled(BufferSpec const& spec) {
  System system;
  auto& buffer = system.add<Buffer>("buffer", spec);
  static_cast<AnyComponent&>(buffer).create_state();
  auto const groups = buffer.stat_groups();
  std::size_t values = 0;
  for (auto const& g : groups) values += g.values();
  std::vector<std::uint64_t> out(values, 99);
  buffer.sample(out.data());
  std::vector<std::string> lines;
  auto const* at = out.data();
  for (auto const& g : groups) {
    std::string line = g.application + ":";
    for (auto const& s : g.stats) {
      line += " " + std::string(s.name) + "=";
      for (std::uint32_t i = 0; i < s.bins; ++i) line += (i == 0 ? "" : ",") + std::to_string(*at++);
    }
    lines.push_back(line);
  }
  return lines;
}
using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("a statistic is absent without its condition, and the others keep order and values") {
  CHECK(sampled({}) ==
        Lines{": reads=11 writes=33 queued=5", "a: reads=1 writes=3", "b: reads=10 writes=30"});
  CHECK(sampled({.keeps = true}) == Lines{": reads=11 kept=22 writes=33 queued=5 full=6",
                                          "a: reads=1 kept=2 writes=3", "b: reads=10 kept=20 writes=30"});
  CHECK(sampled({.depth = 2}) ==
        Lines{": reads=11 writes=33 depths=7,8 queued=5", "a: reads=1 writes=3", "b: reads=10 writes=30"});
}

}  // namespace conditional_stats_test
