// SPDX-License-Identifier: Apache-2.0
// cfd, replayed on values and compared with plain loops over the mesh.
#include <algorithm>
#include <array>
#include <set>

#include "../../workloads/src/cfd_mesh.hpp"
#include "buffer_accesses.hpp"
#include "data.hpp"
#include "temp_file.hpp"

namespace farfault::workloads::cfd_test {
using namespace test;
using namespace test::meshes;

TEST_CASE("cfd: elements of the generated mesh share three corners with the neighbour at each face") {
  constexpr std::int64_t side = 3;
  auto const faces = regular_faces(side);
  constexpr std::size_t n = 6 * side * side * side;
  REQUIRE(faces.size() == 4 * n);
  using Corner = std::array<std::int64_t, 3>;
  std::vector<std::set<Corner>> corners;
  for (std::int64_t e = 0; e < std::int64_t{n}; ++e) {
    std::array<std::size_t, 3> order{0, 1, 2};
    for (int i = 0; i < e % 6; ++i) std::next_permutation(order.begin(), order.end());
    Corner at{e / 6 % side, e / 6 / side % side, e / 6 / side / side};
    std::set<Corner> all{at};
    for (auto const axis : order) {
      ++at[axis];
      all.insert(at);
    }
    corners.push_back(all);
  }
  int wall = 0, far = 0;
  for (std::size_t e = 0; e < n; ++e) {
    std::set<std::int32_t> different;
    for (std::size_t f = 0; f < 4; ++f) {
      auto const behind = faces[f * n + e];
      wall += behind == kWall;
      far += behind == kFarField;
      if (behind < 0) continue;
      CHECK(different.insert(behind).second);
      std::vector<Corner> shared;
      std::ranges::set_intersection(corners[e], corners[std::size_t(behind)], std::back_inserter(shared));
      CHECK(shared.size() == 3);
    }
  }
  CHECK(wall == 2 * side * side);
  CHECK(far == 5 * 2 * side * side);
}

namespace {

Value flux_part(Value own, std::array<Value, 3> const& normal, Value behind) {
  return mix({own, normal[0], normal[1], normal[2], behind});
}

// The value that a thread stores, computed from the values that it loaded before.
Value stored(std::string const& kernel, std::vector<Value> const& in, std::vector<Value> const& constants,
             std::size_t store) {
  if (kernel == "initialize_variables") return constants[store];
  if (kernel == "copy_variables") return in[0];
  if (kernel == "compute_step_factor") {
    REQUIRE(in.size() == 6);
    return mix(in);
  }
  if (kernel == "time_step") {
    REQUIRE(in.size() == 3 + 2 * store);
    return in[1 + 2 * store] + in[0] * in[2 + 2 * store];
  }
  Value sum = in[store];
  std::size_t at = 5;
  for (int f = 0; f < 4; ++f) {
    auto const behind = static_cast<std::int64_t>(in[at]);
    std::array<Value, 3> const normal{in[at + 1], in[at + 2], in[at + 3]};
    at += 4;
    sum += flux_part(in[store], normal, behind >= 0 ? in[at + store] : Value(behind));
    if (behind >= 0) at += 5;
  }
  REQUIRE(at == in.size());
  return sum;
}

}  // namespace

TEST_CASE("cfd: the kernels' loads and stores reproduce the solver's march over the mesh") {
  auto const faces = regular_faces(2);
  constexpr std::uint64_t given = 48, n = 64;  // a block of 64 threads
  auto const behind = [&](std::uint64_t e, std::uint64_t f) {
    return std::int64_t{faces[f * given + std::min(e, given - 1)]};
  };
  // The reference.
  std::vector<Value> variables(5 * n), old, fluxes(5 * n), factors(n);
  for (std::uint64_t i = 0; i < 5 * n; ++i) variables[i] = value_of("far_field", i / n);
  for (int iteration = 0; iteration < 2; ++iteration) {
    old = variables;
    for (std::uint64_t e = 0; e < n; ++e) {
      std::vector<Value> in;
      for (std::uint64_t v = 0; v < 5; ++v) in.push_back(variables[v * n + e]);
      in.push_back(value_of("areas", e));
      factors[e] = mix(in);
    }
    for (int stage = 0; stage < 3; ++stage) {
      for (std::uint64_t v = 0; v < 5; ++v)
        for (std::uint64_t e = 0; e < n; ++e) {
          auto& sum = fluxes[v * n + e] = variables[v * n + e];
          for (std::uint64_t f = 0; f < 4; ++f) {
            std::array<Value, 3> normal{};
            for (std::uint64_t d = 0; d < 3; ++d) normal[d] = value_of("normals", (f + 4 * d) * n + e);
            auto const b = behind(e, f);
            sum += flux_part(variables[v * n + e], normal,
                             b >= 0 ? variables[v * n + std::uint64_t(b)] : Value(b));
          }
        }
      for (std::uint64_t i = 0; i < 5 * n; ++i) variables[i] = old[i] + factors[i % n] * fluxes[i];
    }
  }
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("cfd", {{"side", "2"}, {"iterations", "2"}, {"block", "64"}}, of_width(width));
    REQUIRE(w.kernel_count() == 3 + 2 * 8);
    std::map<VirtAddr, Value> memory;
    for (auto const& b : w.buffers())
      if (b.host_written)
        for (std::uint64_t i = 0; i < b.bytes / 4; ++i)
          memory[b.base + 4 * i] = b.name == "neighbours" ? Value(behind(i % n, i / n)) : value_of(b.name, i);
    for (std::size_t k = 0; k < w.kernel_count(); ++k) {
      std::vector<std::vector<Value>> in(width);
      std::vector<Value> constants;
      std::size_t stores = 0;
      walk(w.kernel(k), width, [&](auto, auto, auto step, WarpInstruction const& i) {
        if (step == 0) {
          in.assign(width, {});
          constants.clear();
          stores = 0;
        }
        if (i.op == Op::scalar_load && reads_data(i))
          for (std::uint64_t b = 0; b < i.bytes_per_lane; b += 4)
            constants.push_back(memory.at(i.address[0] + b));
        if (i.op == Op::load) each_lane(i, [&](auto lane, VirtAddr a) { in[lane].push_back(memory.at(a)); });
        if (i.op != Op::store) return;
        each_lane(i, [&](auto lane, VirtAddr a) {
          memory[a] = stored(w.kernel(k).shape().name, in[lane], constants, stores);
        });
        ++stores;
      });
    }
    auto const& b = buffer(w, "variables");
    for (std::uint64_t i = 0; i < 5 * n; ++i) CHECK(memory.at(b.base + 4 * i) == variables[i]);
    CHECK(inside_buffers(w, width));
  }
}

TEST_CASE("cfd: each face with a neighbour gathers five variables in each of three stages") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::uint64_t const side : {4U, 8U}) {
      auto const w = build("cfd", {{"side", side == 4 ? "4" : "8"}, {"iterations", "1"}}, of_width(width));
      auto const elements = 6 * side * side * side;  // 384 and 3072, whole blocks of 192
      REQUIRE(w.kernel_count() == 11);
      CHECK(w.footprint() == 132 * elements + 128);
      CHECK(w.kernel(3).shape().blocks == 5 * elements / 192);
      for (std::size_t const k : {5U, 7U, 9U}) {
        CHECK(w.kernel(k).shape().blocks == elements / 192);
        auto const inner = 4 * elements - 12 * side * side;
        CHECK(accesses(w, k, "variables", Op::load, width) == 5 * (elements + inner));
        CHECK(accesses(w, k, "neighbours", Op::load, width) == 4 * elements);
        CHECK(accesses(w, k, "normals", Op::load, width) == 12 * elements);
        CHECK(accesses(w, k, "fluxes", Op::store, width) == 5 * elements);
      }
    }
}

TEST_CASE("cfd: a graph gives the elements; one with more than four neighbours is rejected") {
  TempFile const path("path.graph", "3 2\n2\n1 3\n2\n");
  auto const w = build("cfd", {{"graph", path.path()}, {"iterations", "1"}, {"block", "32"}});
  CHECK(buffer(w, "areas").bytes == 4 * 32);
  // Elements after the third copy it: one neighbour each.
  CHECK(accesses(w, 5, "variables", Op::load, 32) == 5 * (32 + 2 + 2 + 29));
  TempFile const star("star.graph", "6 5\n2 3 4 5 6\n1\n1\n1\n1\n1\n");
  CHECK(error_of([&] {
          build("cfd", {{"graph", star.path()}});
        }) == "cfd: vertex 0 of " + star.path() +
                  " has 5 neighbours; each vertex is an element of the mesh, with at most 4, one per face");
  CHECK(error_of([] {
          build("cfd", {{"block", "100"}});
        }) == "block = 100 must be a multiple of the warp width, 32");
}

TEST_CASE("cfd: runs on a real mesh") {
  auto const file = data_file("graphs/wing.graph");
  if (!file) return;
  auto const w = build("cfd", {{"graph", *file}, {"iterations", "1"}});
  CHECK(w.inputs().size() == 1);
  auto const n = buffer(w, "areas").bytes / 4;
  CHECK(n == (62032 + 191) / 192 * 192);
  auto const reads = accesses(w, 5, "variables", Op::load, 32);
  CHECK(reads >= 5 * (n + 2 * 121544));
  CHECK(reads <= 5 * (n + 2 * 121544 + 4 * (n - 62032)));
}

}  // namespace farfault::workloads::cfd_test
