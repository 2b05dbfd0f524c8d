// SPDX-License-Identifier: Apache-2.0
// Bytes in zlib's format, which HDF5's deflate filter reads. A run of zero bytes at the end costs almost
// nothing: its deflated form is assembled from precomputed pieces. For the series of a short run, this takes
// a third of the instructions of zlib's level 1, and half if histograms had a chunk per octave.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace farfault::results {

// `bytes`; from the position `used` on, all are zero.
std::vector<std::byte> deflated(std::span<std::byte const> bytes, std::size_t used);

}  // namespace farfault::results
