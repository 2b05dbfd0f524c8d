// SPDX-License-Identifier: Apache-2.0
#include "lulesh_programs.hpp"

#include <array>
#include <map>
#include <string>
#include <utility>

#include "farfault/workloads/kernel_support.hpp"

namespace farfault::workloads::lulesh {
namespace {

constexpr std::uint32_t kReal = 8;  // bytes
constexpr std::uint32_t kIndex = 4;
constexpr std::uint32_t kSmall = 24, kLarge = 128;  // registers

using Names = std::vector<char const*>;

// The programs of a time step, in the order of their launches.
class Builder {
 public:
  Builder(Cube const& cube, BufferLayout& layout) : cube_(cube) {
    auto const e = cube.elements, n = cube.nodes;
    add(layout, {"x", "y", "z", "xd", "yd", "zd", "nodal_mass"}, kReal * n, true);
    add(layout, {"xdd", "ydd", "zdd", "fx", "fy", "fz"}, kReal * n, false);
    add(layout, {"e", "p", "q", "v", "volo", "ss", "elem_mass"}, kReal * e, true);
    add(layout, {"node_list"}, kIndex * kCorners * e, true);
    add(layout, {"material_list", "lxim", "lxip", "letam", "letap", "lzetam", "lzetap", "elem_bc"},
        kIndex * e, true);
    add(layout, {"corner_count"}, kIndex * n, true);
    add(layout, {"corner_list"}, kIndex * kCorners * n, true);
    add(layout, {"symm_x", "symm_y", "symm_z"}, kIndex * cube.line * cube.line, true);
    add(layout, {"fx_elem", "fy_elem", "fz_elem", "dvdx", "dvdy", "dvdz", "x8n", "y8n", "z8n"},
        kReal * kCorners * e, false);
    add(layout, {"sigxx",          "sigyy",     "sigzz",    "determ",    "vnew",
                 "delv",           "arealg",    "dxx",      "dyy",       "dzz",
                 "vdov",           "delx_xi",   "delx_eta", "delx_zeta", "delv_xi",
                 "delv_eta",       "delv_zeta", "qq",       "ql",        "vnewc",
                 "e_old",          "delvc",     "p_old",    "q_old",     "compression",
                 "comp_half_step", "qq_old",    "ql_old",   "work",      "p_new",
                 "e_new",          "q_new",     "bvc",      "pbvc",      "p_half_step"},
        kReal * e, false);
    auto const blocks = ceil_div(e, kBlock);
    add(layout, {"min_dt_courant", "min_dt_hydro"}, kReal * blocks, false);
  }

  std::vector<std::shared_ptr<Program const>> step() {
    forces();
    motion();
    kinematics();
    viscosity();
    material();
    time_constraints();
    return std::move(programs_);
  }

 private:
  void add(BufferLayout& layout, Names const& names, std::uint64_t bytes, bool host_written) {
    for (auto const* name : names)
      base_[name] = host_written ? layout.add(name, bytes) : layout.add_result(name, bytes);
  }

  void begin(char const* name, Item item, std::uint32_t registers, std::uint64_t shared = 0) {
    auto const items = item == Item::node     ? cube_.nodes
                       : item == Item::border ? cube_.line * cube_.line
                                              : cube_.elements;
    auto const blocks = item == Item::element_corner ? ceil_div(items, kGroup) : ceil_div(items, kBlock);
    now_ = std::make_shared<Program>();
    now_->shape = {.name = name,
                   .blocks = blocks,
                   .threads_per_block = kBlock,
                   .registers_per_thread = registers,
                   .shared_bytes_per_block = shared};
    now_->item = item;
    now_->items = items;
    now_->barriers = shared != 0;
    programs_.push_back(now_);
  }

  void access(Op op, Names const& names, Where where, std::uint32_t k, std::uint32_t bytes) {
    for (auto const* name : names)
      now_->steps.push_back({.op = op, .where = where, .k = k, .bytes = bytes, .base = base_.at(name)});
  }
  void load(Names const& names, Where where = Where::item, std::uint32_t k = 0) {
    access(Op::load, names, where, k, kReal);
  }
  void load_index(char const* name, Where where = Where::item, std::uint32_t k = 0) {
    access(Op::load, {name}, where, k, kIndex);
  }
  void store(Names const& names, Where where = Where::item, std::uint32_t k = 0) {
    access(Op::store, names, where, k, kReal);
  }
  // All computation uses values loaded before.
  void compute(Work work, std::uint32_t threads = kBlock) {
    work.shared_bytes_per_lane = kReal;
    now_->steps.push_back({.wait = true, .work = work, .threads = threads});
  }
  void barrier() { now_->steps.push_back({.op = Op::barrier}); }

  // Sums an array in shared memory with a value per corner over the corners.
  void sum_over_corners() {
    barrier();
    compute({.shared = 1});
    for (auto const threads : {128U, 64U, 32U}) {
      barrier();
      compute({.vector = 1, .scalar = 1, .shared = 3}, threads);
    }
    barrier();
    compute({.shared = 1});
    barrier();
  }

  void nodes_of_element() {
    for (std::uint32_t k = 0; k < kCorners; ++k) {
      load_index("node_list", Where::row, k);
      compute({.vector = 2, .scalar = 1});  // addresses
      load({"x", "y", "z"}, Where::node, k);
    }
  }

  void sum_forces(char const* name, bool onto) {
    begin(name, Item::node, kSmall);
    load_index("corner_count");
    for (std::uint32_t k = 0; k < kCorners; ++k) {
      compute({.vector = k == 0 ? 1U : 4U, .scalar = 2});  // comparison, sums
      load_index("corner_list", Where::corner_row, k);
      compute({.vector = 2});  // addresses
      load({"fx_elem", "fy_elem", "fz_elem"}, Where::corner, k);
    }
    if (onto) load({"fx", "fy", "fz"});
    compute({.vector = onto ? 6U : 3U});
    store({"fx", "fy", "fz"});
  }

  void forces() {
    begin("init_stress_terms", Item::element, kSmall);
    load({"p", "q"});
    compute({.vector = 2});
    store({"sigxx", "sigyy", "sigzz"});

    begin("integrate_stress", Item::element, kLarge);
    nodes_of_element();
    compute({.vector = 106});  // derivatives of the shape functions, volume
    store({"determ"});
    compute({.vector = 270});  // normals of six faces, 45 each
    load({"sigxx", "sigyy", "sigzz"});
    compute({.vector = 24});
    for (std::uint32_t k = 0; k < kCorners; ++k) store({"fx_elem", "fy_elem", "fz_elem"}, Where::row, k);

    sum_forces("add_node_forces", false);

    begin("hourglass_control", Item::element_corner, kSmall, std::uint64_t{2} * kBlock * kReal);
    load_index("node_list", Where::own_row);
    compute({.vector = 6, .scalar = 2});  // thread's corner and element, addresses
    load({"x", "y", "z"}, Where::own_node);
    // The derivative in each direction, of twelve coordinates of other corners; six products of sums.
    for (std::uint32_t direction = 0; direction < 3; ++direction) {
      barrier();
      compute({.shared = direction == 0 ? 2U : 1U});
      barrier();
      compute({.vector = 19, .shared = 12});
      if (direction != 0) barrier();
    }
    store({"dvdx", "dvdy", "dvdz", "x8n", "y8n", "z8n"}, Where::own_row);
    load({"volo", "v"});
    compute({.vector = 1});
    store({"determ"});

    begin("hourglass_force", Item::element_corner, kLarge / 2, std::uint64_t{kBlock} * kReal);
    load({"determ"});
    load({"x8n", "y8n", "z8n", "dvdx", "dvdy", "dvdz"}, Where::own_row);
    compute({.special = 1});
    for (std::uint32_t mode = 0; mode < 4; ++mode) {
      compute({.vector = 5, .scalar = 2});  // signs by corner
      for (std::uint32_t direction = 0; direction < 3; ++direction) sum_over_corners();
      compute({.vector = 4});
    }
    load({"ss", "elem_mass"});
    load_index("node_list", Where::own_row);
    compute({.vector = 4, .special = 2});  // cube root, coefficient, addresses
    load({"xd", "yd", "zd"}, Where::own_node);
    for (std::uint32_t direction = 0; direction < 3; ++direction) {
      for (std::uint32_t mode = 0; mode < 4; ++mode) {
        compute({.vector = 1});
        sum_over_corners();
        compute({.vector = 1});
      }
      compute({.vector = 1});
    }
    store({"fx_elem", "fy_elem", "fz_elem"}, Where::own_row);

    sum_forces("add_node_forces2", true);
  }

  void motion() {
    begin("acceleration", Item::node, kSmall);
    load({"fx", "fy", "fz", "nodal_mass"});
    compute({.vector = 3, .special = 3});
    store({"xdd", "ydd", "zdd"});

    begin("acceleration_boundary", Item::border, kSmall);
    for (std::uint32_t axis = 0; axis < 3; ++axis) {
      load_index(std::array{"symm_x", "symm_y", "symm_z"}[axis], Where::item);
      compute({.vector = 2});  // address
      store({std::array{"xdd", "ydd", "zdd"}[axis]}, Where::border, axis);
    }

    begin("velocity", Item::node, kSmall);
    for (auto const& [speed, acceleration] : {std::pair{"xd", "xdd"}, {"yd", "ydd"}, {"zd", "zdd"}}) {
      load({speed, acceleration});
      compute({.vector = 3});  // multiply-add, comparison, selection
      store({speed});
    }

    begin("position", Item::node, kSmall);
    for (auto const& [place, speed] : {std::pair{"x", "xd"}, {"y", "yd"}, {"z", "zd"}}) {
      load({place, speed});
      compute({.vector = 1});
      store({place});
    }
  }

  void kinematics() {
    begin("kinematics", Item::element, kLarge);
    nodes_of_element();
    compute({.vector = 90});  // volume: 36 differences, three triple products
    load({"volo", "v"});
    compute({.vector = 2, .special = 1});
    store({"vnew", "delv"});
    compute({.vector = 218, .special = 2});  // areas of six faces, 35 each; length
    store({"arealg"});
    for (std::uint32_t k = 0; k < kCorners; ++k) load({"xd", "yd", "zd"}, Where::node, k);
    compute({.vector = 24 + 106 + 57,
             .special = 1});  // positions in the middle of the step, derivatives, gradient
    store({"dxx", "dyy", "dzz"});

    begin("lagrange_part2", Item::element, kSmall);
    load({"dxx", "dyy", "dzz"});
    compute({.vector = 5, .special = 1});
    store({"vdov", "dxx", "dyy", "dzz"});
  }

  void viscosity() {
    begin("monotonic_q_gradients", Item::element, kLarge);
    for (std::uint32_t k = 0; k < kCorners; ++k) load_index("node_list", Where::row, k);
    compute({.vector = 16});  // addresses
    for (auto const* name : {"x", "y", "z", "xd", "yd", "zd"})
      for (std::uint32_t k = 0; k < kCorners; ++k) load({name}, Where::node, k);
    load({"volo", "vnew"});
    compute({.vector = 72 + 2, .special = 1});  // nine differences of sums
    for (auto const& [length, speed] :
         {std::pair{"delx_zeta", "delv_zeta"}, {"delx_xi", "delv_xi"}, {"delx_eta", "delv_eta"}}) {
      compute({.vector = 10, .special = 2});  // cross product, its length
      store({length});
      compute({.vector = 30});
      store({speed});
    }

    begin("monotonic_q_region", Item::element, kLarge / 2);
    load_index("material_list");
    compute({.vector = 2});  // address
    load_index("elem_bc");
    struct Direction {
      char const* speed;
      char const* below;
      char const* above;
    };
    std::uint32_t side = 0;
    for (auto const& d : {Direction{"delv_xi", "lxim", "lxip"},
                          {"delv_eta", "letam", "letap"},
                          {"delv_zeta", "lzetam", "lzetap"}}) {
      load({d.speed});
      compute({.vector = 1, .special = 1});
      for (auto const* list : {d.below, d.above}) {
        compute({.vector = 4, .scalar = 2});  // kind of border
        load_index(list, Where::adjacent_list, side);
        compute({.vector = 2});  // address
        load({d.speed}, Where::adjacent, side++);
      }
      compute({.vector = 14});  // limits
    }
    load({"vdov"});
    compute({.vector = 1, .scalar = 1});
    load({"delx_xi", "delx_eta", "delx_zeta", "elem_mass", "volo", "vnew"});
    compute({.vector = 34, .special = 1});
    store({"qq", "ql"});
  }

  // The pressure of an energy.
  void pressure(char const* result, char const* compression) {
    begin("pressure", Item::element, kSmall);
    load({compression, "e_new", "vnewc"});
    compute({.vector = 9});  // sum, products, three comparisons with selections
    store({"bvc", "pbvc", result});
  }

  void material() {
    begin("material_properties", Item::element, kSmall);
    load_index("material_list");
    compute({.vector = 2});
    load({"vnew"});
    compute({.vector = 4});
    store({"vnewc"});

    begin("eos_part1", Item::element, kSmall);
    load_index("material_list");
    compute({.vector = 2});
    load({"e", "delv", "p", "q", "vnewc", "qq", "ql"});
    compute({.vector = 10, .special = 2, .scalar = 2});
    store({"e_old", "delvc", "p_old", "q_old", "compression", "comp_half_step", "qq_old", "ql_old", "work"});

    begin("energy_part1", Item::element, kSmall);
    load({"e_old", "delvc", "p_old", "q_old", "work"});
    compute({.vector = 6});
    store({"e_new"});

    pressure("p_half_step", "comp_half_step");

    begin("energy_part2", Item::element, kSmall);
    load({"comp_half_step", "delvc"});
    compute({.vector = 2, .special = 1, .scalar = 1});
    load({"pbvc", "e_new", "bvc", "p_half_step", "ql_old", "qq_old"});
    compute({.vector = 7, .special = 2});
    store({"q_new"});
    load({"p_old", "q_old", "work"});
    compute({.vector = 11});
    store({"e_new"});

    pressure("p_new", "compression");

    begin("energy_part3", Item::element, kSmall);
    load({"delvc"});
    compute({.vector = 1, .scalar = 1});
    load({"pbvc", "e_new", "vnewc", "bvc", "p_new", "ql_old", "qq_old"});
    compute({.vector = 7, .special = 2});
    load({"p_old", "q_old", "p_half_step", "q_new"});
    compute({.vector = 12});
    store({"e_new"});

    pressure("p_new", "compression");

    begin("energy_part4", Item::element, kSmall);
    load({"delvc"});
    compute({.vector = 1, .scalar = 1});
    load({"pbvc", "e_new", "vnewc", "bvc", "p_new", "ql_old", "qq_old"});
    compute({.vector = 9, .special = 2});
    store({"q_new"});

    begin("eos_part2", Item::element, kSmall);
    load_index("material_list");
    compute({.vector = 2});
    for (auto const& [from, to] : {std::pair{"p_new", "p"}, {"e_new", "e"}, {"q_new", "q"}}) {
      load({from});
      compute({.vector = 1});
      store({to});
    }

    begin("sound_speed", Item::element, kSmall);
    load_index("material_list");
    load({"pbvc", "e_new", "vnewc", "bvc", "p_new"});
    compute({.vector = 8, .special = 2});
    store({"ss"});

    begin("update_volumes", Item::element, kSmall);
    load({"vnew"});
    compute({.vector = 3});
    store({"v"});
  }

  // The minimum of a block's values.
  void reduce(char const* result) {
    compute({.shared = 1});
    for (auto const threads : {128U, 64U}) {
      barrier();
      compute({.vector = 1, .scalar = 1, .shared = 3}, threads);
    }
    barrier();
    compute({.vector = 6, .scalar = 1, .shared = 18}, 32);
    barrier();
    compute({.scalar = 1, .shared = 1}, 1);
    access(Op::store, {result}, Where::block, 0, kReal);
    now_->steps.back().threads = 1;
  }

  void time_constraints() {
    begin("courant_constraint", Item::element, kSmall, std::uint64_t{kBlock} * kReal);
    load_index("material_list");
    compute({.vector = 2});
    load({"ss", "vdov", "arealg"});
    compute({.vector = 9, .special = 2, .scalar = 2});
    reduce("min_dt_courant");

    begin("hydro_constraint", Item::element, kSmall, std::uint64_t{kBlock} * kReal);
    load_index("material_list");
    compute({.vector = 2});
    load({"vdov"});
    compute({.vector = 4, .special = 1, .scalar = 1});
    reduce("min_dt_hydro");
  }

  Cube const& cube_;
  std::map<std::string, VirtAddr> base_;
  std::shared_ptr<Program> now_;
  std::vector<std::shared_ptr<Program const>> programs_;
};

}  // namespace

Cube::Cube(std::uint64_t along)
    : side(along), line(side + 1), elements(side * side * side), nodes(line * line * line) {
  first_node.reserve(elements);
  adjacent.reserve(elements);
  for (std::uint64_t e = 0; e < elements; ++e) {
    std::array<std::uint64_t, 3> const at{e % side, e / side % side, e / side / side};
    first_node.push_back(static_cast<std::uint32_t>((at[2] * line + at[1]) * line + at[0]));
    unsigned sides = 0;
    for (unsigned axis = 0; axis < 3; ++axis) {
      if (at[axis] > 0) sides |= 1U << (2 * axis);
      if (at[axis] + 1 < side) sides |= 2U << (2 * axis);
    }
    adjacent.push_back(static_cast<std::uint8_t>(sides));
  }
  corner_count.resize(nodes);
  corners.resize(kCorners * nodes);
  for (std::uint64_t e = 0; e < elements; ++e)
    for (std::uint32_t k = 0; k < kCorners; ++k) {
      auto const n = node(e, k);
      corners[kCorners * n + corner_count[n]++] = static_cast<std::uint32_t>(e + elements * k);
    }
}

std::vector<std::shared_ptr<Program const>> time_step(Cube const& cube, BufferLayout& layout) {
  return Builder(cube, layout).step();
}

}  // namespace farfault::workloads::lulesh
