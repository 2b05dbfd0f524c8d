// SPDX-License-Identifier: Apache-2.0
// Private: the bandwidth of a PCIe slot per direction, from the transfer rate and the number of lanes in the
// notation of Linux ("16.0 GT/s PCIe", "16").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "farfault/engine/units.hpp"

namespace farfault::topologies {

// The rate of `lanes` lanes per direction, without line code; empty if the text is not a PCIe rate.
std::optional<Bandwidth> pcie_lanes(std::string_view speed, std::uint64_t lanes);

// Empty for a width that no slot has (Linux writes 0 and 255 for an unknown width).
std::optional<std::uint64_t> pcie_width(std::string_view text);

}  // namespace farfault::topologies
