// SPDX-License-Identifier: Apache-2.0
// Private: checks that a file is a complete, undamaged trace.
//
// Guarantees: the file is read to its end, packet by packet; each field of each message is one that Farfault
// writes, has its wire type and ends within its message; the last packet has the checksum of all packets
// before it. Memory: one packet of at most 1 MiB.
#pragma once

#include <string>

namespace farfault::cli {

// The reason if it is not, as the end of "the trace is damaged: ..."; empty if it is.
std::string why_no_whole_trace(std::string const& path);

}  // namespace farfault::cli
