// SPDX-License-Identifier: Apache-2.0
// Engine::load() into an engine that has already run: none of its earlier state may remain.
#include <doctest/doctest.h>

#include "thread_ranks.hpp"
#include "uneven_model.hpp"

namespace load_test {

using namespace farfault;

namespace {

constexpr std::uint64_t kNumbers = 6 * uneven::kStations;  // always pending

// Loads a checkpoint of time `moment` into an engine at a later time, and runs it to `end`.
struct Outcome {
  std::uint64_t digest = 0;
  std::uint64_t pending = 0;  // after load()
  Time last{};                // after load()
};
Outcome gone_back(std::uint32_t partitions, EngineOptions options, Time end, Transport& transport) {
  uneven::Model model;
  Engine engine(model.system, uneven::Model::placement(partitions), options, transport);
  engine.run_until(Time{1us});
  auto parts = transport.gather(engine.save());
  for (std::uint32_t r = 0; r < transport.ranks(); ++r) {
    parts.resize(transport.ranks());
    transport.broadcast(parts[r]);
  }
  engine.run_until(Time{2us});
  engine.load(parts);
  Outcome outcome;
  outcome.pending = transport.sum(engine.pending_events());
  outcome.last = engine.last_event();
  engine.run_until(end);
  outcome.digest = engine.state_digest();
  return outcome;
}

std::vector<EngineOptions> const kOptions = {
    {},
    {.threads = 1, .merge_lanes = false, .run_sparse_merged = false},
    {.threads = 1, .merge_lanes = false, .run_sparse_merged = true},
    {.threads = 2, .merge_lanes = false, .run_sparse_merged = false}};

}  // namespace

TEST_CASE("an engine with undelivered mail loads an earlier save and keeps none of its later state") {
  auto const end = Time{3us};
  auto const reference = uneven::digest(1, {}, end, *make_single_transport());
  for (auto const& options : kOptions)
    for (std::uint32_t const partitions : {1U, 3U, 8U}) {
      auto const outcome = gone_back(partitions, options, end, *make_single_transport());
      CHECK(outcome.pending == kNumbers);
      CHECK(outcome.digest == reference);
    }
}

TEST_CASE("ranks with undelivered mail load an earlier save and keep none of their later state") {
  auto const end = Time{3us};
  auto const reference = uneven::digest(1, {}, end, *make_single_transport());
  for (auto const& options : kOptions)
    run_on_ranks(2, [&](Transport& transport) {
      auto const outcome = gone_back(8, options, end, transport);
      if (transport.rank() != 0) return;
      CHECK(outcome.pending == kNumbers);
      CHECK(outcome.digest == reference);
    });
}

TEST_CASE("pending events are counted wherever they wait") {
  for (auto const& options : kOptions) {
    uneven::Model model;
    auto const transport = make_single_transport();
    Engine engine(model.system, uneven::Model::placement(8), options, *transport);
    for (auto const t : {1us, 2us, 3us}) {
      engine.run_until(Time{t});
      CHECK(engine.pending_events() == kNumbers);
    }
  }
}

TEST_CASE("the time of the last event is saved") {
  auto const transport = make_single_transport();
  uneven::Model model;
  Engine engine(model.system, uneven::Model::placement(3), {}, *transport);
  engine.run_until(Time{3us});
  auto const last = engine.last_event();
  CHECK(last > Time{2900ns});
  uneven::Model other;
  Engine later(other.system, uneven::Model::placement(2), {}, *transport);
  later.load({engine.save()});
  CHECK(later.last_event() == last);
}

}  // namespace load_test
