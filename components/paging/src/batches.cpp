// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/batches.hpp"

#include <charconv>

namespace farfault {

std::optional<std::uint32_t> BatchParams::workers_of(std::uint32_t gpus) const {
  if (workers == kOnePerGpu) return gpus;
  std::uint32_t count = 0;
  auto const* const end = workers.data() + workers.size();
  auto const [stop, error] = std::from_chars(workers.data(), end, count);
  if (error != std::errc{} || stop != end || count == 0 || count > gpus) return std::nullopt;
  return count;
}

}  // namespace farfault
