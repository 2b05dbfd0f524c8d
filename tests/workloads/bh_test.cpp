// SPDX-License-Identifier: Apache-2.0
// bh: executes its kernels on values, from the tree to the forces, and compares with sums over all pairs of
// bodies.
#include <cmath>
#include <numeric>

#include "../../workloads/src/barnes_hut.hpp"
#include "block_runs.hpp"
#include "thread_play.hpp"

namespace farfault::workloads::bh_test {
using namespace test;
using namespace test::lanes;
namespace {

constexpr std::uint32_t kBodies = 1500;

// The accesses of a kernel by thread of the grid.
std::vector<std::vector<Access>> by_thread(Workload const& w, std::size_t kernel, std::uint32_t width) {
  auto const& shape = w.kernel(kernel).shape();
  std::vector<std::vector<Access>> all(shape.blocks * shape.threads_per_block);
  each_block(w, kernel, width, [&](std::uint64_t block, std::vector<Access> const& accesses) {
    for (auto const& a : accesses) all[block * shape.threads_per_block + a.thread].push_back(a);
  });
  return all;
}

std::size_t kernel_named(Workload const& w, std::string const& name) {
  for (std::size_t k = 0; k < w.kernel_count(); ++k)
    if (w.kernel(k).shape().name == name) return k;
  FAIL("no kernel " << name);
  return 0;
}

// A thread's accesses to its own buffers, without accesses that the first lane makes for the whole warp.
std::vector<Access> of_buffers(std::vector<Access> const& list, std::set<std::string_view> const& buffers) {
  std::vector<Access> kept;
  for (auto const& a : list)
    if (buffers.contains(a.buffer)) kept.push_back(a);
  return kept;
}

struct Bodies {
  std::vector<std::uint32_t> list;
  std::uint32_t depth = 0;  // depth of the node
};

// The bodies below each node, and the node's depth.
std::vector<Bodies> below(BarnesHut const& t) {
  std::vector<Bodies> all(t.root + std::size_t{1});
  for (auto cell = t.root; cell >= t.bottom; --cell)
    for (std::size_t i = 0; i < 8; ++i) {
      auto const child = t.octants[8 * std::size_t{cell} + i];
      if (child != BarnesHut::kNothing) all[static_cast<std::size_t>(child)].depth = all[cell].depth + 1;
    }
  for (std::uint32_t b = 0; b < t.bodies; ++b) all[b].list = {b};
  for (auto cell = t.bottom; cell <= t.root; ++cell)
    for (std::size_t i = 0; i < 8; ++i) {
      auto const child = t.octants[8 * std::size_t{cell} + i];
      if (child == BarnesHut::kNothing) continue;
      auto const& more = all[static_cast<std::size_t>(child)].list;
      all[cell].list.insert(all[cell].list.end(), more.begin(), more.end());
    }
  return all;
}

}  // namespace

TEST_CASE("bh: the tree holds every body once, and its cubes are halved where their bodies diverge") {
  auto const t = barnes_hut(kBodies, 1);
  auto const bodies = below(t);
  REQUIRE(bodies[t.root].list.size() == kBodies);
  CHECK(std::set(bodies[t.root].list.begin(), bodies[t.root].list.end()).size() == kBodies);
  CHECK(t.depth > 8);
  for (auto cell = t.bottom; cell <= t.root; ++cell) {
    auto const& list = bodies[cell].list;
    CHECK(list.size() >= 2);
    CHECK(t.count[cell] == list.size());
    CHECK(bodies[cell].depth < t.depth);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      std::int64_t low[2] = {1LL << 40, 1LL << 40}, high[2] = {-(1LL << 40), -(1LL << 40)};
      double sum = 0;
      for (std::size_t i = 0; i < 8; ++i) {
        auto const child = t.octants[8 * std::size_t{cell} + i];
        if (child == BarnesHut::kNothing) continue;
        for (auto const b : bodies[static_cast<std::size_t>(child)].list) {
          auto const p = t.position[b][axis];
          sum += static_cast<double>(p);
          auto const side = i >> axis & 1;
          low[side] = std::min(low[side], p);
          high[side] = std::max(high[side], p);
        }
      }
      CHECK(high[0] < low[1]);
      CHECK(std::max(high[0], high[1]) - std::min(low[0], low[1]) <= 2 * t.half >> bodies[cell].depth);
      CHECK(std::abs(static_cast<double>(t.position[cell][axis]) - sum / static_cast<double>(list.size())) <=
            t.depth);
    }
  }
  CHECK(t.sorted == bodies[t.root].list);
}

TEST_CASE("bh: children found and written by bodies on their way down form the tree") {
  auto const t = barnes_hut(kBodies, 1);
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("bh", {{"bodies", "1500"}}, of_width(width));
    auto const k = kernel_named(w, "TreeBuildingKernel");
    CHECK(barriers_agree(w, k, width));
    std::vector<std::int64_t> child(8 * (t.root + std::size_t{1}), -1);
    auto bottom = t.root;
    auto const threads = by_thread(w, k, width);
    for (std::uint32_t body = 0; body < kBodies; ++body) {
      // Positions after the first ones belong to the other body; `values` holds the lowest cell.
      std::vector<Access> list;
      for (auto const& a : threads[body]) {
        if (a.buffer == "child" || (a.buffer == "values" && a.element == 1)) list.push_back(a);
        if (a.buffer == "posx" && a.element != t.root && list.size() > 1) list.push_back(a);
      }
      std::size_t i = 0;
      auto slot = list.at(i).element;
      CHECK(slot / 8 == t.root);
      while (child[slot] >= kBodies) {
        auto const cell = static_cast<std::uint64_t>(child[slot]);
        slot = list.at(++i).element;
        CHECK(slot / 8 == cell);
      }
      CHECK(list.at(++i) == Access{Op::load, "child", slot, list[0].thread});  // the atomic
      auto const there = child[slot];
      if (there == -1) {
        child[slot] = body;
        CHECK(i + 1 == list.size());
        continue;
      }
      auto const locked = slot;
      auto const first = bottom - 1;
      for (bool parted = false; !parted;) {
        CHECK(list.at(++i).buffer == "values");
        --bottom;
        if (bottom != first) {
          CHECK(list.at(++i) == Access{Op::store, "child", slot, list[0].thread});
          child[slot] = bottom;
        }
        CHECK(list.at(++i).element == static_cast<std::uint64_t>(there));
        CHECK(list.at(++i).op == Op::store);
        CHECK(list[i].element / 8 == bottom);
        child[list[i].element] = there;
        slot = list.at(++i).element;
        CHECK(slot / 8 == bottom);
        parted = child[slot] == -1;
      }
      CHECK(list.at(++i) == Access{Op::store, "child", slot, list[0].thread});
      child[slot] = body;
      CHECK(list.at(++i) == Access{Op::store, "child", locked, list[0].thread});
      child[locked] = first;
      CHECK(i + 1 == list.size());
    }
    CHECK(bottom == t.bottom);
    CHECK(std::equal(child.begin(), child.end(), t.octants.begin(), t.octants.end()));
  }
}

TEST_CASE("bh: cells sum up their children, and bodies are sorted into the tree's order") {
  auto const t = barnes_hut(kBodies, 1);
  auto const w = build("bh", {{"bodies", "1500"}});
  auto const first = t.bottom / 32 * 32;
  Memory memory(w);
  for (std::uint32_t b = 0; b < kBodies; ++b) {
    memory["mass"][b] = 1;
    for (std::size_t axis = 0; axis < 3; ++axis)
      memory[std::string("pos") + "xyz"[axis]][b] = static_cast<double>(t.position[b][axis]);
  }
  for (std::size_t i = 0; i < t.octants.size(); ++i) memory["child"][i] = t.octants[i];
  for (auto cell = t.bottom; cell <= t.root; ++cell) memory["mass"][cell] = -1;

  auto const bodies = below(t);
  auto threads = by_thread(w, kernel_named(w, "SummarizationKernel"), 32);
  for (auto cell = t.bottom; cell <= t.root; ++cell) {
    auto const list = of_buffers(threads[cell - first], {"child", "count", "mass", "posx", "posy", "posz"});
    std::set<std::uint64_t> looked;
    double count = 0, mass = 0, sum[3] = {0, 0, 0}, now = 0;
    std::size_t stores = 0;
    for (auto const& a : list) {
      if (a.op == Op::store) {
        CHECK(a.element == cell);
        double const axes[] = {sum[0] / mass, sum[1] / mass, sum[2] / mass};
        memory.at(a) = a.buffer == "count"  ? count
                       : a.buffer == "mass" ? mass
                                            : axes[static_cast<std::size_t>(a.buffer[3] - 'x')];
        ++stores;
      } else if (a.buffer == "child") {
        CHECK(looked.insert(a.element).second);
        CHECK(a.element / 8 == cell);
      } else if (a.buffer == "count" || (a.buffer == "mass" && a.element < kBodies)) {
        now = a.buffer == "count" ? memory["mass"][a.element] : memory.at(a);
        mass += now;
        count += a.buffer == "count" ? memory.at(a) : 1;
      } else if (a.buffer != "mass") {
        sum[a.buffer[3] - 'x'] += memory.at(a) * now;
      }
    }
    CHECK(stores == 5);
    CHECK(looked.size() == 8);
    CHECK(memory["mass"][cell] == static_cast<double>(bodies[cell].list.size()));
    CHECK(memory["count"][cell] == static_cast<double>(bodies[cell].list.size()));
    for (std::size_t axis = 0; axis < 3; ++axis) {
      double mean = 0;
      for (auto const b : bodies[cell].list) mean += static_cast<double>(t.position[b][axis]);
      mean /= static_cast<double>(bodies[cell].list.size());
      CHECK(memory[std::string("pos") + "xyz"[axis]][cell] == doctest::Approx(mean).epsilon(1e-6));
    }
  }

  memory["start"][t.root] = 0;
  threads = by_thread(w, kernel_named(w, "SortKernel"), 32);
  for (auto cell = t.root; cell >= t.bottom; --cell) {
    auto const list = of_buffers(threads[cell - first], {"child", "count", "start", "sort"});
    CHECK(list.at(0) == Access{Op::load, "start", cell, list[0].thread});
    auto start = memory["start"][cell];
    double now = -1;
    std::uint64_t looked = 0;
    for (std::size_t i = 1; i < list.size(); ++i) {
      auto const& a = list[i];
      if (a.buffer == "child" && a.op == Op::load) {
        CHECK(a.element == 8 * std::uint64_t{cell} + looked++);
        now = memory.at(a);
      } else if (a.buffer == "child") {  // from its old place to the front, unless it is already there
        CHECK(a.element == 8 * std::uint64_t{cell} + looked - 1);
        memory.at(a) = -1;
        CHECK(list.at(++i).buffer == "child");
        CHECK(list[i].element < a.element);
        memory.at(list[i]) = now;
      } else if (a.buffer == "start") {
        CHECK(static_cast<double>(a.element) == now);
        memory.at(a) = start;
      } else if (a.buffer == "count") {
        CHECK(static_cast<double>(a.element) == now);
        start += memory.at(a);
      } else {
        CHECK(static_cast<double>(a.element) == start++);
        memory.at(a) = now;
      }
    }
    CHECK(looked == 8);
  }
  for (std::size_t i = 0; i < t.children.size(); ++i) CHECK(memory["child"][i] == t.children[i]);
  for (std::uint32_t i = 0; i < kBodies; ++i) CHECK(memory["sort"][i] == t.sorted[i]);
}

TEST_CASE(
    "bh: each warp uses every body once, alone or in a distant cell; forces are close to the exact ones") {
  auto const t = barnes_hut(kBodies, 1);
  auto const bodies = below(t);
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("bh", {{"bodies", "1500"}}, of_width(width));
    auto const k = kernel_named(w, "ForceCalculationKernel");
    CHECK(barriers_agree(w, k, width));
    double error = 0, worst = 0;
    std::uint64_t taken = 0, warps = 0;
    each_block(w, k, width, [&](std::uint64_t block, std::vector<Access> const& accesses) {
      std::map<std::uint32_t, std::vector<Access>> of_warp;
      for (auto const& a : accesses) of_warp[a.thread / width].push_back(a);
      for (auto const& [warp, list] : of_warp) {
        auto const begin = block * 1024 + std::uint64_t{warp} * width;
        if (begin >= kBodies) continue;
        ++warps;
        std::vector<std::uint32_t> own;
        for (auto i = begin; i < std::min<std::uint64_t>(begin + width, kBodies); ++i)
          own.push_back(t.sorted[i]);
        std::vector<std::uint32_t> seen(kBodies);
        std::vector<std::uint64_t> accepted, opened{t.root}, stored, gathered;
        std::int64_t now = -1;
        for (auto const& a : list) {
          if (a.buffer == "child") {
            if (now >= 0) opened.push_back(static_cast<std::uint64_t>(now));  // examined, but not accepted
            CHECK(std::count(opened.begin(), opened.end(), a.element / 8) == 1);
            now = t.children[a.element];
          } else if (a.buffer == "mass") {
            CHECK(static_cast<std::int64_t>(a.element) == now);
            accepted.push_back(a.element);
            for (auto const b : bodies[a.element].list) ++seen[b];
            now = -1;
          } else if (a.buffer == "posx") {
            if (now >= 0)
              CHECK(static_cast<std::int64_t>(a.element) == now);
            else
              gathered.push_back(a.element);
          } else if (a.buffer == "accx") {
            stored.push_back(a.element);
          }
        }
        CHECK(all_equal(seen, 1));
        CHECK(std::equal(own.begin(), own.end(), stored.begin(), stored.end()));
        CHECK(std::equal(own.begin(), own.end(), gathered.begin(), gathered.end()));
        taken += accepted.size();
        auto const distance = [&](std::uint32_t b, std::uint64_t node) {
          double d = 0;
          for (std::size_t axis = 0; axis < 3; ++axis)
            d += std::pow(static_cast<double>(t.position[node][axis] - t.position[b][axis]), 2);
          return d;
        };
        auto const far = [&](std::uint64_t node) {  // for all bodies; uses the parent's depth
          auto const side = static_cast<double>(4 * t.half >> (bodies[node].depth - 1));
          return std::all_of(own.begin(), own.end(),
                             [&](auto b) { return distance(b, node) >= side * side; });
        };
        for (auto const node : accepted) CHECK((node < kBodies || far(node)));
        for (auto const node : opened) CHECK((node == t.root || !far(node)));
        for (auto const b : own) {
          double found[3] = {}, exact[3] = {};
          auto const pull = [&](double(&force)[3], std::uint64_t node, double mass) {
            auto const d = distance(b, node) + 1e6;  // softened, as in the suite
            for (std::size_t axis = 0; axis < 3; ++axis)
              force[axis] +=
                  mass * static_cast<double>(t.position[node][axis] - t.position[b][axis]) / std::pow(d, 1.5);
          };
          for (auto const node : accepted) pull(found, node, t.count[node]);
          for (std::uint32_t other = 0; other < kBodies; ++other) pull(exact, other, 1);
          double miss = 0, size = 0;
          for (std::size_t axis = 0; axis < 3; ++axis) {
            miss += std::pow(found[axis] - exact[axis], 2);
            size += std::pow(exact[axis], 2);
          }
          worst = std::max(worst, std::sqrt(miss / size));
          error += std::sqrt(miss / size) / kBodies;
        }
      }
    });
    CAPTURE(error);
    CAPTURE(worst);
    CHECK(error > 0);
    CHECK(error < 0.01);
    CHECK(worst < 0.1);
    CHECK(warps == (kBodies + width - 1) / width);
    CHECK(taken < warps * kBodies * 4 / 5);
    CHECK(inside_buffers(w, width));
  }
}

TEST_CASE("bh: accesses of the regular kernels follow from bodies, cells and blocks") {
  auto const t = barnes_hut(3000, 1);
  auto const w = build("bh", {{"bodies", "3000"}});
  REQUIRE(w.kernel_count() == 9);
  // Three blocks of 32 warps each; per warp the first body, per thread its own body; the last block reads 18
  // bounds.
  auto const box = grids::counts_of(w.kernel(1), 32);
  CHECK(box.loaded == 3 * (3 * 32 + 3000 + 6) + 3 + 1);
  CHECK(box.stored == 3 * 6 + 7 + 8 + 1);
  CHECK(box.barriers == 3 * 32 * 10);
  CHECK(t.root == 6015);
  CHECK(grids::counts_of(w.kernel(2), 32).stored == 8 * (t.root - 3000));
  CHECK(grids::counts_of(w.kernel(4), 32).stored == 2 * (t.root - t.bottom));
  auto const move = grids::counts_of(w.kernel(8), 32);
  CHECK(move.loaded == 9 * 3000);
  CHECK(move.stored == 6 * 3000);
}

}  // namespace farfault::workloads::bh_test
