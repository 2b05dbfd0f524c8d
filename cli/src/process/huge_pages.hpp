// SPDX-License-Identifier: Apache-2.0
// Private: memory in 2 MiB pages, if the kernel provides them on request (transparent_hugepage=madvise).
//
// The states of a machine are accessed in the order of its events; in 4 KiB pages they exceed the reach of a
// core's TLB. The request reserves addresses for 1 GiB, not memory; the first allocations use them. It
// changes no result, and does nothing if addresses are limited (RLIMIT_AS, RLIMIT_DATA) or huge pages are not
// available.
#pragma once

namespace farfault::cli {

// Call from the main thread before the allocations that should benefit; once per process, and after its
// limits are set: forked children inherit the reserved addresses.
void ask_for_huge_pages();

}  // namespace farfault::cli
