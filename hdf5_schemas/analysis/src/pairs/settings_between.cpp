// SPDX-License-Identifier: Apache-2.0
#include "settings_between.hpp"

#include "farfault/engine/error.hpp"
#include "farfault/results/reading/guard.hpp"
#include "farfault/results/reading/settings.hpp"
#include "farfault/results/reading/walk.hpp"
#include "result_file.hpp"
#include "topology_difference.hpp"

namespace farfault::analysis {
namespace {

constexpr std::string_view kMachineFile = "the file of machine.";

// Replaces the hash of a machine file by the changed link.
SettingDifference with_links(SettingDifference s, ObjectId a, ObjectId b) {
  if (!s.name.starts_with(kMachineFile)) return s;
  if (auto const link = topology_difference(a, b)) s = {s.name + ", " + link->name, link->a, link->b};
  return s;
}

}  // namespace

std::vector<SettingDifference> settings_between(std::string const& a, std::string const& b) {
  Pack pack(read_guarded(
      a,
      [&](ObjectId file_a) {
        check_is_result(file_a);
        auto const file_b = open_to_read(b, "cannot open the other file");
        check_is_result(file_b);
        Pack answer;
        for (auto const& s : setting_differences(file_a, file_b)) {
          auto const shown = with_links(s, file_a, file_b);
          answer.put(1);
          for (auto const* field : {&shown.name, &shown.a, &shown.b}) answer.put(one_line(*field));
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
