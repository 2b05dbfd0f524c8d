// SPDX-License-Identifier: Apache-2.0
// Private: memory in pages of 2 MiB, where the kernel gives them to those who ask
// (transparent_hugepage=madvise). The states of a machine are touched in the order of its events; of pages of
// 4 KiB they are more than the TLB of a core has. It takes addresses for 1 GiB, not memory: what is allocated
// first lies there. Changes no result. Where addresses are limited (RLIMIT_AS, RLIMIT_DATA) or there are no
// such pages, nothing happens.
#pragma once

namespace farfault::cli {

// By the main thread, before what it is for is allocated; once in a process, and after its limits are set:
// what is asked for counts as addresses of those that it forks, too.
void ask_for_huge_pages();

}  // namespace farfault::cli
