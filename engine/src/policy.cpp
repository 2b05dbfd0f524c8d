// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/policy.hpp"

#include <algorithm>
#include <set>

namespace farfault {
namespace {

// A statistic is a dataset next to the scales time_ps, instance and bin, bin_2, ...
void check_stats(std::vector<StatInfo> const& stats) {
  std::set<std::string_view> names;
  for (auto const& s : stats) {
    if (!is_key(s.name))
      throw UserError("statistic '" + shown(s.name) +
                      "': a name may contain only letters, digits, '_' and '-'");
    auto const statistic = "statistic " + std::string(s.name);
    if (is_coordinate(s.name))
      throw UserError(statistic +
                      ": this name is reserved (time_ps, instance, application, and all that start "
                      "with bin); choose another name");
    if (!names.insert(s.name).second) throw UserError(statistic + " is declared twice");
  }
}

}  // namespace

void Policies::check() const {
  for (auto const& a : added_) {
    auto const policy = "policy '" + shown(a.name) + "'";
    if (!is_key(a.name)) throw UserError(policy + ": a name may contain only letters, digits, '_' and '-'");
    auto const is_same = [&](Added const& b) { return a.interface == b.interface && a.name == b.name; };
    if (std::ranges::count_if(added_, is_same) != 1) throw UserError(policy + " is added twice");
    try {
      auto const names = a.names(a.maker.get());
      if (std::ranges::find(names.taken, a.name) != names.taken.end())
        throw UserError("a built-in policy of the same interface has this name; choose another name");
      check_stats(names.stats);
    } catch (UserError const& e) {
      throw UserError(policy + ": " + e.what());
    }
  }
}

}  // namespace farfault
