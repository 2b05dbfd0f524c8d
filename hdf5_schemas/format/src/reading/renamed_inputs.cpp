// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "config_text.hpp"
#include "farfault/results/reader.hpp"
#include "farfault/results/reading/guard.hpp"
#include "farfault/results/reading/walk.hpp"

namespace farfault::results {

std::vector<std::string> renamed_inputs(std::string const& a, std::string const& b) {
  check_readable(a);
  check_readable(b);
  Pack pack(read_guarded(
      a,
      [&](ObjectId file_a) {
        auto const file_b = open_to_read(b, "cannot open the other file");
        check_is_result(file_b);
        auto const others = file_names(file_b);
        std::vector<std::string> renamed;
        for (auto const& name : file_names(file_a))
          if (std::find(others.begin(), others.end(), name) == others.end()) renamed.push_back(name.first);
        Pack answer;
        answer.put(renamed.size());
        for (auto const& parameter : renamed) answer.put(parameter);
        return answer.take();
      },
      b));
  std::vector<std::string> renamed(pack.number());
  for (auto& parameter : renamed) parameter = pack.text();
  return renamed;
}

}  // namespace farfault::results
