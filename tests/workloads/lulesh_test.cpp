// SPDX-License-Identifier: Apache-2.0
// lulesh: all kernels compared with plain loops over arrays.
#include <algorithm>
#include <array>
#include <set>

#include "../../workloads/src/lulesh_programs.hpp"
#include "buffer_accesses.hpp"

namespace farfault::workloads::lulesh_test {
using namespace test;
using namespace test::meshes;

TEST_CASE("lulesh: no kernel reads unwritten data, and each writes all elements of its results once") {
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
        for (auto const& stored : stores) {
          auto const& array = stored.first;
          auto const& where = stored.second;
          CAPTURE(array);
          if (name != "acceleration_boundary") CHECK(where.size() == buffer(w, array).bytes / 8);
          for (auto const& [a, count] : where) {
            written.insert(a);
            // The last elements of a block of 32 are copies; all corners write the values that they share.
            if (name.find("hourglass") == std::string::npos) CHECK(count == 1);
          }
        }
      }
    }
}

namespace {

// A time step of LULESH as loops over plain arrays. Instead of LULESH's arithmetic, each store is the sum of
// all values that the item has read before, each multiplied by a factor of its array.
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

TEST_CASE("lulesh: the loads and stores of all kernels in two time steps match loops over plain arrays") {
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
    for (auto const& array : memory) {
      auto const& name = array.first;
      CAPTURE(name);
      // The reductions are excluded.
      if (!name.starts_with("min_dt")) CHECK(array.second == plain.arrays.at(name));
    }
  }
}

TEST_CASE("lulesh: nodes sum up the forces of exactly their elements' corners") {
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
      // Corners are numbered around the lower face.
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

TEST_CASE("lulesh: threads of one element's corners share its values, and use the row of their corner") {
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
      // Each of six sides has side^2 elements without a neighbour.
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

TEST_CASE("lulesh: a cube of one element is rejected") {
  CHECK(error_of([] { build("lulesh", {{"side", "1"}}); }).find("2 to 512") != std::string::npos);
}

}  // namespace farfault::workloads::lulesh_test
