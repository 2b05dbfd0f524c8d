// SPDX-License-Identifier: Apache-2.0
#include "together.hpp"

#include <exception>

namespace farfault::cli {

bool together(Transport& transport, std::function<void()> const& step) {
  std::exception_ptr failure;
  try {
    step();
  } catch (...) {
    failure = std::current_exception();
  }
  auto const mine = failure ? transport.ranks() - transport.rank() : 0;
  auto const first = transport.max(mine);
  if (first == 0) return true;
  if (failure && first == mine) std::rethrow_exception(failure);
  return false;
}

}  // namespace farfault::cli
