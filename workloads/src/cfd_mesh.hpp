// SPDX-License-Identifier: Apache-2.0
// The meshes of cfd: what lies behind each of an element's four faces.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "farfault/workloads/graph.hpp"

namespace farfault::workloads {

inline constexpr std::uint32_t kFaces = 4;
inline constexpr std::int32_t kWall = -1;
inline constexpr std::int32_t kFarField = -2;

// Face by face, for each element: the element behind it, kWall or kFarField.
//
// Of a cube of side^3 cubes. Each is cut along its diagonal into six tetrahedra, one for each order of the
// axes: from the lowest corner along the first axis, then the second, then the third. Face f is opposite to
// the f-th corner on the way. The lower side in the third axis is the wall. `side` is at most 256.
std::vector<std::int32_t> regular_faces(std::int64_t side);

// Of a graph whose vertices are the elements. Throws UserError, which names `file`, if one has more than four
// neighbours.
std::vector<std::int32_t> faces_of_graph(CsrGraph const& graph, std::string const& file);

}  // namespace farfault::workloads
