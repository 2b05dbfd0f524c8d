// SPDX-License-Identifier: Apache-2.0
#include "farfault/parts/turns.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace turns_test {

using namespace farfault;

TEST_CASE("turns: clients are served in cyclic order, one step each, until none has a step left") {
  std::vector<int> left{2, 0, 3};
  std::vector<std::uint32_t> served;
  std::uint64_t turn = 1;
  auto const serve = [&](std::uint32_t client) {
    if (left[client] == 0) return false;
    --left[client];
    served.push_back(client);
    return true;
  };
  take_turns(turn, left.size(), serve);
  CHECK(served == std::vector<std::uint32_t>{2, 0, 2, 0, 2});
  CHECK(turn == 0);  // after calls of clients 0, 1 and 2 without a step
  left[1] = 1;
  take_turns(turn, left.size(), serve);
  CHECK(served.back() == 1);
  CHECK(turn == 2);
  take_turns(turn, 0, serve);
  CHECK(turn == 2);
}

}  // namespace turns_test
