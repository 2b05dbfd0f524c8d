// SPDX-License-Identifier: Apache-2.0
// Private: the bandwidth of a PCIe slot in one direction, from the transfer rate and the number of lanes that
// Linux states ("16.0 GT/s PCIe", "16").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "farfault/engine/units.hpp"

namespace farfault::topologies {

// A lane's rate in one direction, line code taken off; nothing for a text that is no PCIe rate.
std::optional<Bandwidth> pcie_lanes(std::string_view speed, std::uint64_t lanes);

// Nothing for a width that no slot has (Linux writes 0 and 255 where it knows none).
std::optional<std::uint64_t> pcie_width(std::string_view text);

}  // namespace farfault::topologies
