// SPDX-License-Identifier: Apache-2.0
// Every order of the messages of two transitions, and of an access at any moment, in a small world
// (page_world.hpp). Equal states are visited once.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "page_world.hpp"

namespace page_interleavings_test {

using namespace farfault;
using namespace page_world;

namespace {

struct Result {
  std::uint64_t states = 0;
  std::uint64_t ends = 0;
  std::uint64_t deadlocks = 0;
  std::uint64_t wrong_owners = 0;
  std::uint64_t stale = 0;
  std::uint64_t lost = 0;
  std::array<bool, kPageSteps> taken{};

  void add(Result const& r) {
    states += r.states;
    ends += r.ends;
    deadlocks += r.deadlocks;
    wrong_owners += r.wrong_owners;
    stale += r.stale;
    lost += r.lost;
    for (std::size_t i = 0; i < kPageSteps; ++i) taken[i] = taken[i] || r.taken[i];
  }
};

// Counters of steps, at the end, distinguish no states.
std::uint64_t hash_of(std::vector<std::byte> const& bytes) {
  Hasher hasher;
  hasher.raw(bytes.data(), bytes.size() - kPageSteps * sizeof(std::uint64_t));
  return hasher.value();
}

class Search {
 public:
  Search(PagingDriverSpec const& spec, std::vector<Request> const& ops) : world_(spec, ops) {}

  Result run() {
    std::vector<std::byte> start;
    world_.save(start);
    visit(start);
    result_.stale = world_.stale();
    result_.lost = world_.lost();
    return result_;
  }

 private:
  void visit(std::vector<std::byte> const& bytes) {
    if (!seen_.insert(hash_of(bytes)).second) return;
    ++result_.states;
    world_.load(bytes);
    result_.wrong_owners += world_.wrong_owners();
    auto const events = world_.events();
    if (events.empty()) {
      ++result_.ends;
      result_.deadlocks += world_.is_at_rest() ? 0 : 1;
      for (std::size_t i = 0; i < kPageSteps; ++i)
        result_.taken[i] = result_.taken[i] || world_.taken()[i] != 0;
    }
    std::vector<std::byte> next;
    for (auto const& e : events) {
      world_.load(bytes);
      world_.happen(e);
      world_.save(next);
      visit(next);
    }
  }

  World world_;
  Result result_;
  std::unordered_set<std::uint64_t> seen_;
};

// Pages 0 and 1 on the given devices; each GPU has `frames` frames.
struct Machine {
  PagingDriverSpec spec;
  std::vector<PlacedPage> placed;
  PageTable table{0, kPageBits};
  HostPages host_pages;
  PlannedPages planned{{{kFirst, kPages}}, DeviceId{0}};

  Machine(std::vector<DeviceId> const& homes, std::uint64_t frames) {
    std::array<std::uint64_t, kGpus + 1> next{};
    for (std::uint64_t p = 0; p < homes.size(); ++p) {
      auto const device = homes[p];
      placed.push_back({kFirst + p, device, 0});
      auto const of = device >= kFirstCpu ? kGpus : device;
      table.map(kFirst + p, physical(device, next.at(of)++ << kPageBits));
    }
    spec.params.migrations = 3;
    spec.params.fault_latency = spec.params.notify_latency = spec.params.allocation_latency =
        Duration::zero();
    spec.page_bits = kPageBits;
    spec.devices = NodeDevices(kGpus);
    spec.frames_per_gpu = frames;
    spec.frames_of_cpu = 4;
    spec.placed = &placed;
    spec.preloaded = &table;
    spec.iommus = kIommus;
    spec.pages_move = true;
    spec.application_of_space = {0};
  }
  Machine(Machine const&) = delete;
  Machine& operator=(Machine const&) = delete;
  void with_programs() {
    spec.host_pages = &host_pages;
    spec.planned = &planned;
    spec.application_of_stream = {0};
  }
};

Request read(std::uint8_t gpu, std::uint8_t page) {
  return {Request::Kind::read, gpu, page};
}
Request write(std::uint8_t gpu, std::uint8_t page) {
  return {Request::Kind::write, gpu, page};
}
constexpr Request kFree{Request::Kind::free, 0, 0};

// Every pair of `first` and `second`, with each access of `third`.
Result search_all(Machine const& machine, std::vector<Request> const& first,
                  std::vector<Request> const& second, std::vector<Request> const& third) {
  Result all;
  for (auto const& a : first)
    for (auto const& b : second)
      for (auto const& c : third) all.add(Search(machine.spec, {a, b, c}).run());
  return all;
}

void check(Result const& r) {
  CHECK(r.states > 100);
  CHECK(r.ends > 0);
  CHECK(r.deadlocks == 0);
  CHECK(r.wrong_owners == 0);
  CHECK(r.stale == 0);
  CHECK(r.lost == 0);
}
bool took(Result const& r, PageStep step) {
  return r.taken[static_cast<std::size_t>(step)];
}

}  // namespace

TEST_CASE("moves in every order lose no access and no write, with full GPUs and with free frames") {
  for (std::uint64_t const frames : {1U, 2U}) {
    CAPTURE(frames);
    Machine const machine({0, 1}, frames);
    auto const r = search_all(machine, {write(1, 0), write(2, 0)}, {write(0, 1), write(0, 0)},
                              {read(2, 1), write(2, 0)});
    MESSAGE(r.states << " states");
    check(r);
    CHECK(took(r, PageStep::copy));
  }
}

TEST_CASE("copies and collapses in every order lose no access and no write") {
  for (std::uint64_t const frames : {1U, 2U}) {
    CAPTURE(frames);
    Machine machine({0, kFirstCpu}, frames);
    machine.spec.makes_copies = true;
    auto const r = search_all(machine, {read(1, 0)}, {write(0, 0), write(2, 0), read(2, 0)},
                              {read(2, 0), write(1, 0), read(1, 1)});
    MESSAGE(r.states << " states");
    check(r);
    CHECK(took(r, PageStep::add_copy));
    CHECK(took(r, PageStep::drop_copies));
  }
}

TEST_CASE("pages that a program frees in flight lose no frame, with and without a flush") {
  for (bool const flushes : {false, true}) {
    CAPTURE(flushes);
    Machine machine({0, 1}, 2);
    machine.with_programs();
    machine.spec.flush_moving_pages = flushes;
    auto const r = search_all(machine, {kFree}, {write(1, 0), write(2, 1)}, {read(2, 0), write(0, 0)});
    MESSAGE(r.states << " states");
    check(r);
    CHECK(took(r, PageStep::unmap));
    CHECK(took(r, PageStep::flush) == flushes);
  }
}

TEST_CASE("a large page that is coalesced and splintered by moves in every order loses no access") {
  for (bool const moves : {false, true}) {
    CAPTURE(moves);
    Machine machine({0, 1}, 4);
    machine.spec.frames = PolicyChoice<FrameAllocator>("contiguity_conserving");
    machine.spec.page_sizes = PolicyChoice<PageSizes>(moves ? "migrating_coalescer" : "in_place_coalescer");
    machine.spec.coalesces = true;
    machine.spec.moves_to_coalesce = moves;
    machine.spec.large_size = 1;
    auto const r = search_all(machine, {write(0, 1)}, {write(1, 1), write(2, 0)}, {read(2, 1), write(0, 0)});
    MESSAGE(r.states << " states");
    check(r);
    CHECK(took(r, PageStep::confirm) == moves);
  }
}

}  // namespace page_interleavings_test
