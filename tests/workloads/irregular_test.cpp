// Workloads whose accesses follow a mesh, a tree or a search: replayed on values, against plain references.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <set>

#include "../../workloads/src/cfd_mesh.hpp"
#include "../../workloads/src/lulesh_programs.hpp"
#include "../../workloads/src/streamcluster_search.hpp"
#include "../../workloads/src/suffix_tree.hpp"
#include "data.hpp"
#include "temp_file.hpp"
#include "warp_walk.hpp"

namespace farfault::workloads {
using namespace test;
namespace {

BuildContext of_width(std::uint32_t width) {
  BuildContext context;
  context.warp_width = width;
  return context;
}

bool holds(Buffer const& b, VirtAddr a) {
  return a >= b.base && a < b.base + b.bytes;
}

// Accesses of lanes to a buffer in one kernel.
std::uint64_t accesses(Workload const& w, std::size_t kernel, std::string_view name, Op op,
                       std::uint32_t width) {
  auto const& b = buffer(w, name);
  std::uint64_t count = 0;
  walk(w.kernel(kernel), width, [&](auto, auto, auto, WarpInstruction const& in) {
    if (in.op == op) each_lane(in, [&](auto, VirtAddr a) { count += holds(b, a); });
  });
  return count;
}

// How many barriers each warp of a kernel meets; all warps meet as many.
std::uint64_t barriers(Kernel const& kernel, std::uint32_t width) {
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> met;
  walk(kernel, width, [&](auto block, auto warp, auto, WarpInstruction const& in) {
    met[{block, warp}] += in.op == Op::barrier;
  });
  CHECK(met.size() == kernel.shape().blocks * warps_of(kernel, width));
  for (auto const& [warp, count] : met) CHECK(count == met.begin()->second);
  return met.begin()->second;
}

}  // namespace

// ---- streamcluster

TEST_CASE("streamcluster: what the kernels add up decides, as on the host, which candidates become centres") {
  constexpr std::uint64_t n = 256;
  constexpr std::uint32_t dims = 3;
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("streamcluster",
                         {{"points", "256"},
                          {"dimensions", "3"},
                          {"fewest", "3"},
                          {"most", "6"},
                          {"evaluations", "40"},
                          {"block", "64"}},
                         of_width(width));
    auto const set = generate_points(n, dims, 1);
    auto const search = search_centres(set, {3, 6, 40}, 1);
    REQUIRE(w.kernel_count() == search.size());
    auto const& coordinates = buffer(w, "coordinates");
    auto const& points = buffer(w, "points");
    auto const& table = buffer(w, "centre_table");
    auto const& work = buffer(w, "work");
    auto const& marks = buffer(w, "switch_membership");
    std::vector<std::int64_t> cost(search[0].before->cost.begin(), search[0].before->cost.end());
    std::vector<std::uint64_t> centre(search[0].before->centre.begin(), search[0].before->centre.end());
    std::uint64_t opened = 0;
    for (std::size_t k = 0; k < search.size(); ++k) {
      std::set<std::uint64_t> const centres(centre.begin(), centre.end());
      std::map<std::uint64_t, std::uint64_t> number;
      for (auto const c : centres) number.emplace(c, number.size());
      std::vector<std::int64_t> candidate, distance(n), sums(n * (centres.size() + 1));
      std::vector<std::uint32_t> seen(n);
      std::vector<bool> marked(n);
      std::uint64_t block_now = ~0ULL, x = n, past_barrier = 0;
      walk(w.kernel(k), width, [&](auto block, auto warp, auto step, WarpInstruction const& in) {
        if (block != block_now) candidate.clear();
        block_now = block;
        if (step == 0) past_barrier = 0;
        past_barrier += in.op == Op::barrier;
        if (in.op != Op::load && in.op != Op::store) return;
        each_lane(in, [&](auto lane, VirtAddr a) {
          auto const t = block * 64 + warp * width + lane;
          if (holds(coordinates, a)) {
            auto const e = (a - coordinates.base) / 4;
            auto const value = std::int64_t{set.coordinates[e % n * dims + e / n]};
            if (past_barrier == 0) {
              CHECK(lane == 0);
              CHECK(e / n == candidate.size());
              x = e % n;
              return candidate.push_back(value);
            }
            REQUIRE(candidate.size() == dims);
            CHECK(e % n == t);
            auto const d = value - candidate[seen[t]++];
            distance[t] += d * d;
          } else if (holds(points, a)) {
            CHECK((a - points.base) / 32 == t);
          } else if (holds(table, a)) {
            CHECK((a - table.base) / 4 == centre[t]);
          } else if (holds(marks, a)) {
            CHECK(a - marks.base == t);
            CHECK(in.op == Op::store);
            marked[t] = true;
          } else {
            REQUIRE(holds(work, a));
            auto const row = centres.size() + 1;
            auto const entry = marked[t] ? centres.size() : number.at(centre[t]);
            CHECK((a - work.base) / 4 == t * row + entry);
            if (in.op == Op::store)
              sums[(a - work.base) / 4] += marked[t] ? distance[t] - cost[t] : cost[t] - distance[t];
          }
        });
      });
      CHECK(x == search[k].candidate);
      auto const row = centres.size() + 1;
      double saving = search[k].price;
      std::map<std::uint64_t, double> closing;
      for (auto const c : centres) {
        closing[c] = search[k].price;
        for (std::uint64_t i = 0; i < n; ++i) closing[c] += double(sums[i * row + number[c]]);
        if (closing[c] > 0) saving -= closing[c];
      }
      for (std::uint64_t i = 0; i < n; ++i) {
        CHECK(seen[i] == dims);
        CHECK(marked[i] == (distance[i] < cost[i]));
        saving += double(sums[i * row + centres.size()]);
      }
      CHECK(search[k].opened == (saving < 0));
      if (saving >= 0) continue;
      ++opened;
      for (std::uint64_t i = 0; i < n; ++i)
        if (marked[i] || closing[centre[i]] > 0) {
          cost[i] = distance[i];
          centre[i] = x;
        }
    }
    CHECK(opened > 0);
    CHECK(opened < search.size());
  }
}

TEST_CASE(
    "streamcluster: at first each point belongs to its nearest centre, and centres keep to their bounds") {
  auto const set = generate_points(500, 5, 3);
  auto const search = search_centres(set, {4, 9, 100'000}, 3);
  auto const& first = *search.front().before;
  CHECK(first.centres >= 4);
  for (std::uint64_t i = 0; i < 500; ++i) {
    std::uint64_t least = ~0ULL;
    for (auto const c : first.centre) least = std::min(least, set.distance(i, c));
    CHECK(first.cost[i] == least);
    CHECK(set.distance(i, first.centre[i]) == least);
  }
  auto const& last = *search.back().before;
  CHECK(last.centres >= 4);
  CHECK(last.centres <= 9);
  CHECK(search.size() < 100'000);
}

TEST_CASE("streamcluster: accesses and barriers are as many as points, dimensions and candidates") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::uint64_t const n : {128U, 384U}) {
      auto const w = build(
          "streamcluster",
          {{"points", n == 128 ? "128" : "384"}, {"dimensions", "7"}, {"evaluations", "5"}, {"block", "128"}},
          of_width(width));
      CHECK(w.kernel_count() == 5);
      CHECK(w.kernel(4).shape().blocks == n / 128);
      CHECK(w.kernel(4).shape().shared_bytes_per_block == 28);
      CHECK(barriers(w.kernel(4), width) == 1);
      CHECK(accesses(w, 4, "coordinates", Op::load, width) == 7 * (n + n / 128));
      CHECK(accesses(w, 4, "work", Op::load, width) == n);
      CHECK(accesses(w, 4, "work", Op::store, width) == n);
      auto const marked = accesses(w, 4, "switch_membership", Op::store, width);
      CHECK(accesses(w, 4, "centre_table", Op::load, width) == n - marked);
      CHECK(accesses(w, 4, "points", Op::load, width) == 3 * n - marked);
      CHECK(inside_buffers(w, width));
    }
}

TEST_CASE("streamcluster: parameters that do not fit together are refused") {
  CHECK(error_of([] {
          build("streamcluster", {{"points", "1000"}});
        }) == "streamcluster: 1000 points are not a multiple of the block's 512 threads");
  CHECK(error_of([] {
          build("streamcluster", {{"fewest", "30"}});
        }) == "streamcluster: centres must be fewest <= most < points, not 30, 20 and 16384");
}

// ---- cfd

TEST_CASE("cfd: elements of the generated mesh share three corners with the one behind each face") {
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

// Stand-ins for the arithmetic of cfd's kernels, on whole numbers.
using Value = std::uint64_t;
Value mix(std::vector<Value> const& values) {
  Value h = 1;
  for (auto const v : values) h = (h ^ v) * 0x9e3779b97f4a7c15ULL + (h >> 29);
  return h;
}
Value flux_part(Value own, std::array<Value, 3> const& normal, Value behind) {
  return mix({own, normal[0], normal[1], normal[2], behind});
}
Value value_of(std::string const& name, std::uint64_t i) {
  return mix({name.size(), Value(name.front()), i});
}

// What each thread stores, from what it loaded before.
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

TEST_CASE("cfd: what the kernels load and store is the solver's march over the mesh") {
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

TEST_CASE("cfd: each face with an element behind it gathers five variables in each of three stages") {
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

TEST_CASE("cfd: a graph gives the elements; one with more than four neighbours is refused") {
  TempFile const path("path.graph", "3 2\n2\n1 3\n2\n");
  auto const w = build("cfd", {{"graph", path.path()}, {"iterations", "1"}, {"block", "32"}});
  CHECK(buffer(w, "areas").bytes == 4 * 32);
  // Those behind the third are like it: one neighbour each.
  CHECK(accesses(w, 5, "variables", Op::load, 32) == 5 * (32 + 2 + 2 + 29));
  TempFile const star("star.graph", "6 5\n2 3 4 5 6\n1\n1\n1\n1\n1\n");
  CHECK(error_of([&] {
          build("cfd", {{"graph", star.path()}});
        }) == "cfd: vertex 0 of " + star.path() + " has 5 neighbours, but an element has four faces");
  CHECK(error_of([] {
          build("cfd", {{"block", "100"}});
        }) == "cfd: block 100 is not a multiple of the warp's 32 threads");
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

// ---- lulesh

TEST_CASE("lulesh: no kernel reads what nobody wrote, and each writes all elements of its results once") {
  for (std::uint32_t const width : {32U, 64U})
    for (auto const* side : {"3", "4"}) {
      auto const w = build("lulesh", {{"side", side}, {"steps", "2"}}, of_width(width));
      REQUIRE(w.kernel_count() == 56);
      std::set<VirtAddr> written;
      for (std::size_t k = 0; k < w.kernel_count(); ++k) {
        auto const name = w.kernel(k).shape().name;
        CAPTURE(name);
        std::map<std::string, std::map<VirtAddr, int>> stores;
        walk(w.kernel(k), width, [&](auto, auto, auto, WarpInstruction const& in) {
          if (in.op != Op::load && in.op != Op::store) return;
          each_lane(in, [&](auto, VirtAddr a) {
            auto const b = std::ranges::find_if(w.buffers(), [&](Buffer const& x) { return holds(x, a); });
            REQUIRE(b != w.buffers().end());
            CHECK((a - b->base) % in.bytes_per_lane == 0);
            if (in.op == Op::store)
              ++stores[b->name][a];
            else
              REQUIRE_MESSAGE((b->host_written || written.contains(a)), b->name);
          });
        });
        for (auto const& [array, where] : stores) {
          CAPTURE(array);
          if (name != "acceleration_boundary") CHECK(where.size() == buffer(w, array).bytes / 8);
          for (auto const& [a, count] : where) {
            written.insert(a);
            // The last elements of a block of 32 repeat one; all corners write what they share.
            if (name.find("hourglass") == std::string::npos) CHECK(count == 1);
          }
        }
      }
    }
}

namespace {

// A time step of LULESH as loops over plain arrays. In place of its arithmetic, what is stored is the sum of
// all that the item has read before, each by a factor of its array.
class PlainLulesh {
 public:
  static constexpr std::uint64_t side = 3, line = side + 1;
  static constexpr std::uint64_t elements = side * side * side, nodes = line * line * line;
  using Names = std::vector<std::string>;

  std::map<std::string, std::vector<Value>> arrays;

  static Value factor(std::string const& name) {
    Value h = 7;
    for (auto const c : name) h = mix({h, Value(c)});
    return h | 1;
  }

  void step() {
    for (std::uint64_t e = 0; e < elements; ++e) plain(e, {"p", "q"}, {"sigxx", "sigyy", "sigzz"});
    for (std::uint64_t e = 0; e < elements; ++e) {
      begin();
      corners(e, {"x", "y", "z"});
      write({"determ"}, e);
      read({"sigxx", "sigyy", "sigzz"}, e);
      for (std::uint64_t c = 0; c < 8; ++c) write({"fx_elem", "fy_elem", "fz_elem"}, c * elements + e);
    }
    forces({});
    for (std::uint64_t e = 0; e < elements; ++e)
      for (std::uint64_t c = 0; c < 8; ++c) {
        begin();
        read({"x", "y", "z"}, node(e, c));
        write({"dvdx", "dvdy", "dvdz", "x8n", "y8n", "z8n"}, c * elements + e);
        read({"volo", "v"}, e);
        write({"determ"}, e);
      }
    for (std::uint64_t e = 0; e < elements; ++e)
      for (std::uint64_t c = 0; c < 8; ++c) {
        begin();
        read({"determ", "ss", "elem_mass"}, e);
        read({"x8n", "y8n", "z8n", "dvdx", "dvdy", "dvdz"}, c * elements + e);
        read({"xd", "yd", "zd"}, node(e, c));
        write({"fx_elem", "fy_elem", "fz_elem"}, c * elements + e);
      }
    forces({"fx", "fy", "fz"});
    for (std::uint64_t n = 0; n < nodes; ++n)
      plain(n, {"fx", "fy", "fz", "nodal_mass"}, {"xdd", "ydd", "zdd"});
    for (std::uint64_t i = 0; i < nodes; ++i) {
      begin();
      if (i % line == 0) write({"xdd"}, i);
      if (i / line % line == 0) write({"ydd"}, i);
      if (i / line / line == 0) write({"zdd"}, i);
    }
    for (auto const& [first, second] : {std::pair{"d", "dd"}, {"", "d"}})
      for (std::uint64_t n = 0; n < nodes; ++n) {
        begin();
        for (std::string const axis : {"x", "y", "z"}) {
          read({axis + first, axis + second}, n);
          write({axis + first}, n);
        }
      }
    for (std::uint64_t e = 0; e < elements; ++e) {
      begin();
      corners(e, {"x", "y", "z"});
      read({"volo", "v"}, e);
      write({"vnew", "delv", "arealg"}, e);
      corners(e, {"xd", "yd", "zd"});
      write({"dxx", "dyy", "dzz"}, e);
      plain(e, {"dxx", "dyy", "dzz"}, {"vdov", "dxx", "dyy", "dzz"});
    }
    for (std::uint64_t e = 0; e < elements; ++e) {
      begin();
      corners(e, {"x", "y", "z", "xd", "yd", "zd"});
      read({"volo", "vnew"}, e);
      write({"delx_zeta", "delv_zeta", "delx_xi", "delv_xi", "delx_eta", "delv_eta"}, e);
    }
    for (std::uint64_t e = 0; e < elements; ++e) {
      begin();
      std::uint64_t apart = 1;
      for (auto const* speed : {"delv_xi", "delv_eta", "delv_zeta"}) {
        read({speed}, e);
        if (e / apart % side > 0) read({speed}, e - apart);
        if (e / apart % side + 1 < side) read({speed}, e + apart);
        apart *= side;
      }
      read({"vdov", "delx_xi", "delx_eta", "delx_zeta", "elem_mass", "volo", "vnew"}, e);
      write({"qq", "ql"}, e);
    }
    for (std::uint64_t e = 0; e < elements; ++e) material(e);
  }

 private:
  static std::uint64_t node(std::uint64_t e, std::uint64_t corner) {
    constexpr std::uint64_t x[] = {0, 1, 1, 0}, y[] = {0, 0, 1, 1};
    return ((e / side / side + corner / 4) * line + e / side % side + y[corner % 4]) * line + e % side +
           x[corner % 4];
  }
  void begin() { sum_ = 0; }
  void read(Names const& names, std::uint64_t i) {
    for (auto const& n : names) sum_ += factor(n) * arrays.at(n).at(i);
  }
  void write(Names const& names, std::uint64_t i) {
    for (auto const& n : names) arrays.at(n).at(i) = sum_ + factor(n);
  }
  void corners(std::uint64_t e, Names const& names) {
    for (std::uint64_t c = 0; c < 8; ++c) read(names, node(e, c));
  }
  void plain(std::uint64_t i, Names const& in, Names const& out) {
    begin();
    read(in, i);
    write(out, i);
  }
  void forces(Names const& onto) {
    for (std::uint64_t n = 0; n < nodes; ++n) {
      begin();
      for (std::uint64_t e = 0; e < elements; ++e)
        for (std::uint64_t c = 0; c < 8; ++c)
          if (node(e, c) == n) read({"fx_elem", "fy_elem", "fz_elem"}, c * elements + e);
      read(onto, n);
      write({"fx", "fy", "fz"}, n);
    }
  }
  void material(std::uint64_t e) {
    plain(e, {"vnew"}, {"vnewc"});
    plain(e, {"e", "delv", "p", "q", "vnewc", "qq", "ql"},
          {"e_old", "delvc", "p_old", "q_old", "compression", "comp_half_step", "qq_old", "ql_old", "work"});
    plain(e, {"e_old", "delvc", "p_old", "q_old", "work"}, {"e_new"});
    plain(e, {"comp_half_step", "e_new", "vnewc"}, {"bvc", "pbvc", "p_half_step"});
    plain(e, {"comp_half_step", "delvc", "pbvc", "e_new", "bvc", "p_half_step", "ql_old", "qq_old"},
          {"q_new"});
    read({"p_old", "q_old", "work"}, e);
    write({"e_new"}, e);
    plain(e, {"compression", "e_new", "vnewc"}, {"bvc", "pbvc", "p_new"});
    plain(e,
          {"delvc", "pbvc", "e_new", "vnewc", "bvc", "p_new", "ql_old", "qq_old", "p_old", "q_old",
           "p_half_step", "q_new"},
          {"e_new"});
    plain(e, {"compression", "e_new", "vnewc"}, {"bvc", "pbvc", "p_new"});
    plain(e, {"delvc", "pbvc", "e_new", "vnewc", "bvc", "p_new", "ql_old", "qq_old"}, {"q_new"});
    begin();
    for (std::string const name : {"p", "e", "q"}) {
      read({name + "_new"}, e);
      write({name}, e);
    }
    plain(e, {"pbvc", "e_new", "vnewc", "bvc", "p_new"}, {"ss"});
    plain(e, {"vnew"}, {"v"});
  }

  Value sum_ = 0;
};

}  // namespace

TEST_CASE("lulesh: what all kernels of two time steps load and store is what loops over plain arrays do") {
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("lulesh", {{"side", "3"}, {"steps", "2"}}, of_width(width));
    PlainLulesh plain;
    for (auto const& b : w.buffers())
      for (std::uint64_t i = 0; i < b.bytes / 8; ++i)
        plain.arrays[b.name].push_back(b.host_written ? value_of(b.name, i) : 0);
    auto memory = plain.arrays;
    plain.step();
    plain.step();
    for (std::size_t k = 0; k < w.kernel_count(); ++k) {
      std::vector<Value> sums(width);
      walk(w.kernel(k), width, [&](auto, auto, auto step, WarpInstruction const& in) {
        if (step == 0) sums.assign(width, 0);
        if ((in.op != Op::load && in.op != Op::store) || in.bytes_per_lane != 8) return;
        each_lane(in, [&](auto lane, VirtAddr a) {
          auto const& b = *std::ranges::find_if(w.buffers(), [&](Buffer const& x) { return holds(x, a); });
          auto& value = memory.at(b.name).at((a - b.base) / 8);
          auto const factor = PlainLulesh::factor(b.name);
          if (in.op == Op::load)
            sums[lane] += factor * value;
          else
            value = sums[lane] + factor;
        });
      });
    }
    for (auto const& [name, values] : memory) {
      CAPTURE(name);
      // The reductions are left out.
      if (!name.starts_with("min_dt")) CHECK(values == plain.arrays.at(name));
    }
  }
}

TEST_CASE("lulesh: nodes sum up the forces of just those elements' corners that they are") {
  constexpr std::uint64_t side = 3, line = 4;
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("lulesh", {{"side", "3"}, {"steps", "1"}}, of_width(width));
    auto const& fx = buffer(w, "fx_elem");
    auto const& x = buffer(w, "x");
    // Corner by row of fx_elem -> the node whose x its element read.
    std::vector<std::vector<std::uint64_t>> node_of(27);
    walk(w.kernel(1), width, [&](auto block, auto warp, auto, WarpInstruction const& in) {
      if (in.op != Op::load) return;
      each_lane(in, [&](auto lane, VirtAddr a) {
        if (holds(x, a)) node_of[block * 256 + warp * width + lane].push_back((a - x.base) / 8);
      });
    });
    std::vector<std::multiset<std::uint64_t>> expected(64), summed(64);
    for (std::uint64_t e = 0; e < 27; ++e) {
      REQUIRE(node_of[e].size() == 8);
      std::set<std::uint64_t> geometry;
      for (std::uint64_t c = 0; c < 8; ++c)
        geometry.insert((e / side / side + c / 4) * line * line + (e / side % side + c / 2 % 2) * line +
                        e % side + c % 2);
      CHECK(geometry == std::set<std::uint64_t>(node_of[e].begin(), node_of[e].end()));
      for (std::uint64_t c = 0; c < 8; ++c) expected[node_of[e][c]].insert(c * 27 + e);
      // Along the lower face corners go round.
      CHECK(node_of[e][1] - node_of[e][0] == 1);
      CHECK(node_of[e][2] - node_of[e][3] == 1);
      CHECK(node_of[e][3] - node_of[e][0] == line);
    }
    for (std::size_t const k : {2U, 5U}) {
      for (auto& s : summed) s.clear();
      walk(w.kernel(k), width, [&](auto block, auto warp, auto, WarpInstruction const& in) {
        if (in.op != Op::load) return;
        each_lane(in, [&](auto lane, VirtAddr a) {
          if (holds(fx, a)) summed[block * 256 + warp * width + lane].insert((a - fx.base) / 8);
        });
      });
      CHECK(summed == expected);
    }
  }
}

TEST_CASE("lulesh: viscosity reads the elements on all six sides, and none beyond the border") {
  auto const w = build("lulesh", {{"side", "3"}, {"steps", "1"}});
  for (std::uint64_t axis = 0; axis < 3; ++axis) {
    auto const& b = buffer(w, std::array{"delv_xi", "delv_eta", "delv_zeta"}[axis]);
    std::uint64_t const apart = axis == 0 ? 1 : axis == 1 ? 3 : 9;
    std::vector<std::multiset<std::uint64_t>> read(27);
    walk(w.kernel(13), 32, [&](auto block, auto warp, auto, WarpInstruction const& in) {
      if (in.op != Op::load) return;
      each_lane(in, [&](auto lane, VirtAddr a) {
        if (holds(b, a)) read[block * 256 + warp * 32 + lane].insert((a - b.base) / 8);
      });
    });
    for (std::uint64_t e = 0; e < 27; ++e) {
      std::multiset<std::uint64_t> expected{e};
      if (e / apart % 3 > 0) expected.insert(e - apart);
      if (e / apart % 3 < 2) expected.insert(e + apart);
      CHECK(read[e] == expected);
    }
  }
}

TEST_CASE("lulesh: threads of one element's corners share its values, and take the row of their corner") {
  constexpr std::uint64_t elements = 64;
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build("lulesh", {{"side", "4"}, {"steps", "1"}}, of_width(width));
    auto const& nodes = buffer(w, "node_list");
    auto const& ss = buffer(w, "ss");
    walk(w.kernel(4), width, [&](auto block, auto warp, auto, WarpInstruction const& in) {
      if (in.op != Op::load) return;
      each_lane(in, [&](auto lane, VirtAddr a) {
        auto const thread = warp * width + lane;
        auto const element = block * 32 + thread % 32;
        if (holds(nodes, a)) CHECK((a - nodes.base) / 4 == thread / 32 * elements + element);
        if (holds(ss, a)) CHECK((a - ss.base) / 8 == element);
      });
    });
  }
}

TEST_CASE("lulesh: accesses, blocks and barriers of a time step follow from elements, nodes and corners") {
  for (std::uint32_t const width : {32U, 64U})
    for (std::uint64_t const side : {3U, 8U}) {
      auto const w = build("lulesh", {{"side", side == 3 ? "3" : "8"}, {"steps", "1"}}, of_width(width));
      REQUIRE(w.kernel_count() == 28);
      auto const elements = side * side * side, nodes = (side + 1) * (side + 1) * (side + 1);
      auto const corner_threads = (elements + 31) / 32 * 256;
      std::vector<std::uint64_t> loads, stores;
      for (std::size_t k = 0; k < 28; ++k) {
        loads.push_back(addresses(w.kernel(k), width, Op::load).size());
        stores.push_back(addresses(w.kernel(k), width, Op::store).size());
      }
      auto const corners = 8 * elements;
      CHECK(loads[1] == elements * (8 + 24 + 3));
      CHECK(stores[1] == elements * (1 + 24));
      CHECK(loads[2] == nodes + corners * 4);
      CHECK(loads[3] == corner_threads * 6);
      CHECK(stores[3] == corner_threads * 7);
      CHECK(loads[4] == corner_threads * 13);
      CHECK(stores[4] == corner_threads * 3);
      CHECK(loads[5] == loads[2] + 3 * nodes);
      CHECK(stores[7] == 3 * (side + 1) * (side + 1));
      CHECK(loads[10] == elements * (8 + 24 + 2 + 24));
      CHECK(loads[12] == elements * (8 + 48 + 2));
      // Each of six sides has side^2 elements without another.
      CHECK(loads[13] == elements * (2 + 3 + 1 + 6) + 2 * 6 * (elements - side * side));
      CHECK(stores[15] == elements * 9);
      CHECK(loads[18] == elements * 11);
      CHECK(w.kernel(2).shape().blocks == (nodes + 255) / 256);
      CHECK(w.kernel(4).shape().blocks == (elements + 31) / 32);
      CHECK(stores[26] == (elements + 255) / 256);
      CHECK(barriers(w.kernel(3), width) == 8);
      CHECK(barriers(w.kernel(4), width) == 24 * 6);
      CHECK(barriers(w.kernel(26), width) == 4);
      CHECK(inside_buffers(w, width));
    }
}

TEST_CASE("lulesh: a cube of one element is refused") {
  CHECK(error_of([] { build("lulesh", {{"side", "1"}}); }).find("2 to 512") != std::string::npos);
}

// ---- mummer

TEST_CASE("mummer: the tree spells every suffix once, and suffix links drop the first base") {
  auto bases = random_bases(300, 5);
  std::copy_n(bases.begin(), 40, bases.begin() + 100);  // a long repeat
  auto const tree = build_suffix_tree(bases);
  auto text = bases;
  text.push_back(kEndMark);
  std::vector<std::vector<std::uint8_t>> path(tree.nodes.size());
  std::set<std::vector<std::uint8_t>> suffixes, expected;
  for (std::size_t i = 0; i < text.size(); ++i) expected.insert({text.begin() + long(i), text.end()});
  std::size_t leaves = 0;
  std::vector<std::uint32_t> inner;
  for (std::uint32_t v = 1; v < tree.nodes.size(); ++v) {
    std::size_t children = 0;
    for (std::uint8_t c = 0; c <= kEndMark; ++c)
      if (auto const child = tree.nodes[v].children[c]; child != 0) {
        ++children;
        REQUIRE(child > v);  // breadth-first
        auto const& edge = tree.nodes[child];
        REQUIRE(edge.start >= 1);
        REQUIRE(edge.end <= text.size());
        CHECK(text[edge.start - 1] == c);
        path[child] = path[v];
        path[child].insert(path[child].end(), text.begin() + edge.start - 1, text.begin() + edge.end);
      }
    CHECK(children != 1);
    if (children != 0) {
      inner.push_back(v);
    } else {
      ++leaves;
      suffixes.insert(path[v]);
    }
  }
  CHECK(tree.nodes[SuffixTree::kRoot].suffix == SuffixTree::kRoot);
  for (auto const v : inner)
    if (v != SuffixTree::kRoot)
      CHECK(path[tree.nodes[v].suffix] == std::vector<std::uint8_t>(path[v].begin() + 1, path[v].end()));
  CHECK(leaves == text.size());
  CHECK(suffixes == expected);
}

TEST_CASE("mummer: what threads read finds the longest match from each start, and writes those long enough") {
  constexpr std::uint64_t length = 25, shortest = 8, queries = 150, starts = length - shortest + 1;
  auto const sequence = random_bases(2000, 1);
  auto const tree = build_suffix_tree(sequence);
  auto const asked = make_queries(sequence, queries, length, 0.5, 1);
  std::string const text(sequence.begin(), sequence.end());
  for (std::uint32_t const width : {32U, 64U}) {
    auto const w = build(
        "mummer",
        {{"reference", "2000"}, {"queries", "150"}, {"shortest", "8"}, {"foreign", "0.5"}, {"block", "64"}},
        of_width(width));
    auto const& nodes = buffer(w, "nodes");
    auto const& children = buffer(w, "children");
    auto const& reference = buffer(w, "reference");
    auto const& bases = buffer(w, "queries");
    auto const& results = buffer(w, "results");
    struct Thread {
      std::uint64_t start = 0, last_base = 0, parent = 0, at = 0, position = 0;
      bool result = false;
    };
    std::vector<Thread> threads(queries);
    std::uint64_t written = 0, long_enough = 0;
    walk(w.kernel(0), width, [&](auto block, auto warp, auto, WarpInstruction const& in) {
      if (in.op != Op::load && in.op != Op::store) return;
      each_lane(in, [&](auto lane, VirtAddr a) {
        auto const q = block * 64 + warp * width + lane;
        auto& t = threads[q];
        auto const base_of = [&](std::uint64_t position) {
          return position <= length ? asked[q * length + position - 1] : kEndMark;
        };
        if (holds(bases, a)) {
          CHECK((a - bases.base) / (length + 2) == q);
          t.last_base = (a - bases.base) % (length + 2);
        } else if (holds(children, a)) {
          auto const id = (a - children.base) / 16;
          if (t.at != 0) CHECK(id == t.at);
          t.parent = id;
        } else if (holds(nodes, a)) {
          auto const id = (a - nodes.base) / 16;
          if (id != t.parent) {
            CHECK(id == tree.nodes[t.parent].children[base_of(t.last_base)]);
            t.at = id;
            return;
          }
          // Back to where the suffix link is: the start is done.
          std::string const rest(asked.begin() + long(q * length + t.start),
                                 asked.begin() + long((q + 1) * length));
          std::uint64_t match = 0;
          while (match < rest.size() && text.find(rest.substr(0, match + 1)) != std::string::npos) ++match;
          CHECK(t.last_base == t.start + match + 1);
          CHECK(t.result == (match >= shortest));
          long_enough += match >= shortest;
          ++t.start;
          t.result = false;
          // A match of nothing starts at the root again, as a link from the root does.
          t.at = id == SuffixTree::kRoot ? 0 : tree.nodes[id].suffix;
        } else if (holds(reference, a)) {
          auto const& edge = tree.nodes[t.at];
          CHECK(a - reference.base > edge.start);
          CHECK(a - reference.base <= edge.end);
        } else if (holds(results, a)) {
          ++written;
          t.result = true;
          CHECK(a == results.base + 8 * (q * starts + t.start));
        }
      });
    });
    for (auto const& t : threads) CHECK(t.start == starts);
    CHECK(written == long_enough);
    CHECK(written > queries);
    CHECK(inside_buffers(w, width));
  }
}

TEST_CASE("mummer: threads read as much in warps of 32 and of 64, each a link for each start") {
  for (auto const* reference : {"500", "3000"}) {
    std::vector<std::uint64_t> base, node;
    for (std::uint32_t const width : {32U, 64U}) {
      auto const w = build("mummer", {{"reference", reference}, {"queries", "200"}}, of_width(width));
      CHECK(w.kernel(0).shape().blocks == 1);
      CHECK(accesses(w, 0, "query_lengths", Op::load, width) == 200);
      CHECK(accesses(w, 0, "query_addresses", Op::load, width) == 200);
      base.push_back(accesses(w, 0, "queries", Op::load, width));
      node.push_back(accesses(w, 0, "nodes", Op::load, width) - 200 * 6);
      // Each child that is read was one of children that were read; those without are the ends of starts.
      CHECK(accesses(w, 0, "children", Op::load, width) >= node.back());
      CHECK(accesses(w, 0, "children", Op::load, width) <= node.back() + 200 * 6);
    }
    CHECK(base[0] == base[1]);
    CHECK(node[0] == node[1]);
  }
}

TEST_CASE("mummer: parameters that do not fit together are refused") {
  CHECK(error_of([] {
          build("mummer", {{"length", "12"}});
        }) ==
        "mummer: must be shortest match <= length of a query <= reference, not 20, 12 and 200000 bases");
}

}  // namespace farfault::workloads
