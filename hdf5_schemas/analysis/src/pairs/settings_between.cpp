// SPDX-License-Identifier: Apache-2.0
#include "settings_between.hpp"

#include "farfault/engine/error.hpp"
#include "farfault/results/reading/guard.hpp"
#include "farfault/results/reading/settings.hpp"
#include "farfault/results/reading/walk.hpp"
#include "result_file.hpp"

namespace farfault::analysis {

std::vector<SettingDifference> settings_between(std::string const& a, std::string const& b) {
  Pack pack(read_guarded(
      a,
      [&](ObjectId file_a) {
        check_is_result(file_a);
        auto const file_b = open_to_read(b, "cannot open the other file");
        check_is_result(file_b);
        Pack answer;
        for (auto const& s : setting_differences(file_a, file_b)) {
          answer.put(1);
          for (auto const* field : {&s.name, &s.a, &s.b}) answer.put(one_line(*field));
        }
        answer.put(std::uint64_t{0});
        return answer.take();
      },
      b));
  std::vector<SettingDifference> all;
  while (pack.number() != 0) {
    auto& s = all.emplace_back();
    for (auto* field : {&s.name, &s.a, &s.b}) *field = pack.text();
  }
  return all;
}

}  // namespace farfault::analysis
