// SPDX-License-Identifier: Apache-2.0
// Private: whether a file is a whole trace, as it was written.
//
// Guarantees: the file is read to its end, packet by packet; each field of each message is one that Farfault
// writes, has its wire type and ends within its message; the last packet has the checksum of all before it.
// Memory: a packet, which has at most 1 MiB.
#pragma once

#include <string>

namespace farfault::cli {

// Why it is none, as the end of "the trace is damaged: ..."; empty: it is one.
std::string why_no_whole_trace(std::string const& path);

}  // namespace farfault::cli
