// SPDX-License-Identifier: Apache-2.0
// The meshes of cfd: the element behind each of an element's four faces.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "farfault/workloads/graph.hpp"

namespace farfault::workloads {

inline constexpr std::uint32_t kFaces = 4;
inline constexpr std::int32_t kWall = -1;
inline constexpr std::int32_t kFarField = -2;

// Returns, face by face, the element behind that face of each element, or kWall or kFarField.
//
// The mesh is a cube of side^3 cubes, `side` at most 256. Each small cube is cut along its diagonal into six
// tetrahedra, one per order of the axes: from the lowest corner along the first axis, then the second, then
// the third. Face f is opposite to the f-th corner of this path. The lower side in the third axis is the
// wall.
std::vector<std::int32_t> regular_faces(std::int64_t side);

// Returns the faces of a graph whose vertices are the elements. Throws UserError, which names `file`, if an
// element has more than four neighbours.
std::vector<std::int32_t> faces_of_graph(CsrGraph const& graph, std::string const& file);

}  // namespace farfault::workloads
