// SPDX-License-Identifier: Apache-2.0
#include "cfd_mesh.hpp"

#include <array>

#include "farfault/engine/error.hpp"

namespace farfault::workloads {

std::vector<std::int32_t> regular_faces(std::int64_t side) {
  constexpr std::array<std::array<std::uint32_t, 3>, 6> orders{
      {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}};
  auto const number = [&](std::array<std::uint32_t, 3> const& order) {
    for (std::int64_t n = 0;; ++n)
      if (orders[static_cast<std::size_t>(n)] == order) return n;
  };
  std::array<std::int64_t, 3> const apart{1, side, side * side};
  auto const elements = 6 * side * side * side;
  std::vector<std::int32_t> list(static_cast<std::size_t>(kFaces * elements));
  for (std::int64_t e = 0; e < elements; ++e) {
    auto const cube = e / 6;
    auto const [a, b, c] = orders[static_cast<std::size_t>(e % 6)];
    auto const place = [&](std::uint32_t axis) { return cube / apart[axis] % side; };
    std::array<std::int64_t, kFaces> const behind{
        place(a) + 1 < side ? 6 * (cube + apart[a]) + number({b, c, a}) : kFarField,
        6 * cube + number({b, a, c}), 6 * cube + number({a, c, b}),
        place(c) > 0 ? 6 * (cube - apart[c]) + number({c, a, b}) : (c == 2 ? kWall : kFarField)};
    for (std::uint32_t f = 0; f < kFaces; ++f)
      list[static_cast<std::size_t>(f * elements + e)] = static_cast<std::int32_t>(behind[f]);
  }
  return list;
}

std::vector<std::int32_t> faces_of_graph(CsrGraph const& graph, std::string const& file) {
  std::vector<std::int32_t> list(kFaces * graph.vertices, kFarField);
  for (std::uint64_t v = 0; v < graph.vertices; ++v) {
    auto const count = graph.offsets[v + 1] - graph.offsets[v];
    if (count > kFaces)
      throw UserError("cfd: vertex " + std::to_string(v) + " of " + shown(file) + " has " +
                      std::to_string(count) +
                      " neighbours; each vertex is an element of the mesh, with at most 4, one per face");
    for (std::uint64_t f = 0; f < count; ++f)
      list[f * graph.vertices + v] = static_cast<std::int32_t>(graph.targets[graph.offsets[v] + f]);
  }
  return list;
}

}  // namespace farfault::workloads
