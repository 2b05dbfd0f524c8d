// SPDX-License-Identifier: Apache-2.0
#include "huge_pages.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>

namespace farfault::cli {

namespace {

bool is_limited(decltype(RLIMIT_AS) resource) {
  rlimit limit{};
  return getrlimit(resource, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

std::uintptr_t end_of_heap() {
  return reinterpret_cast<std::uintptr_t>(sbrk(0));
}

}  // namespace

void ask_for_huge_pages() {
  constexpr std::uintptr_t kPage = 2U << 20U;
  constexpr int kAhead = 1 << 30;
  constexpr int kLargest = 32 << 20;  // maximum of M_MMAP_THRESHOLD
  constexpr int kPadding = 128 << 10;
  static bool asked = false;
  if (std::exchange(asked, true)) return;
  if (is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA)) return;
  if (mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max()) == 0) return;
  mallopt(M_MMAP_THRESHOLD, kLargest);
  mallopt(M_TOP_PAD, kAhead);
  auto const before = end_of_heap();
  void* volatile more = std::malloc(kLargest / 4);  // more than is left: the heap grows
  std::free(more);
  mallopt(M_TOP_PAD, kPadding);
  auto const first = (before + kPage - 1) / kPage * kPage;
  if (end_of_heap() > first) madvise(reinterpret_cast<void*>(first), end_of_heap() - first, MADV_HUGEPAGE);
}

}  // namespace farfault::cli
