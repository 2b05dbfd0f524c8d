// SPDX-License-Identifier: Apache-2.0
#include "show/pair_phrases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "farfault/cli/readable.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/units.hpp"

namespace farfault::cli {
namespace {

using analysis::Cause;
using analysis::PairExplanation;

constexpr double kNamed = 0.1;      // smallest share of the change that the verdict names
constexpr double kMostShare = 1.5;  // of a reason; with a larger one, the verdict has times instead of shares
constexpr std::size_t kReasons = 2;  // that the verdict names
constexpr std::size_t kSettingsNamed = 2;

std::string time_of(double ps) {
  constexpr double kMost = 9e18;
  return for_people(Duration{static_cast<std::int64_t>(std::min(std::abs(ps), kMost))});
}

bool explains(std::int64_t ps, PairExplanation const& e) {
  return ps != 0 && (ps > 0) == (e.change_ps > 0);
}

// A value as in the configuration, without the quotes of a text.
std::string value_of(std::string const& value) {
  bool const quoted = value.size() > 1 && value.front() == '"' && value.back() == '"';
  return shown(quoted ? value.substr(1, value.size() - 2) : value);
}

struct Reason {
  std::string text;
  std::int64_t ps = 0;
};

// By differing parameters if there are several groups of them, otherwise by cause. The largest first.
std::vector<Reason> reasons_of(PairExplanation const& e) {
  auto const with_settings = [&](std::string text, std::vector<std::size_t> const& settings) {
    return settings.empty() ? text : text + " (" + differing_text(e, settings) + ")";
  };
  std::vector<Reason> reasons;
  auto const groups_with_settings =
      std::ranges::count_if(e.groups, [](auto const& g) { return !g.settings.empty(); });
  if (groups_with_settings > 1) {
    for (auto const& g : e.groups) {
      auto const first =
          std::ranges::find_if(g.causes, [&](std::size_t i) { return (e.causes[i].ps > 0) == (g.ps > 0); });
      if (g.ps != 0 && first != g.causes.end())
        reasons.push_back({with_settings(cause_text(e.causes[*first]), g.settings), g.ps});
    }
    return reasons;
  }
  bool named = false;
  for (auto const& c : e.causes) {
    bool const first = !named && explains(c.ps, e);
    named = named || first;
    reasons.push_back({first ? with_settings(cause_text(c), c.settings) : cause_text(c), c.ps});
  }
  return reasons;
}

// "1.23 times as slow as A (+4.2 us)"
std::string comparison_text(PairExplanation const& e) {
  bool const slower = e.change_ps > 0;
  auto const high = static_cast<double>(std::max(e.a.end_ps, e.b.end_ps)),
             low = static_cast<double>(std::min(e.a.end_ps, e.b.end_ps));
  auto const factor = high / low;
  return fmt::format("B is {} times as {} as A ({})",
                     factor < 1.1   ? fmt::format("{:.3f}", factor)
                     : factor < 100 ? fmt::format("{:.2f}", factor)
                                    : fmt::format("{:.0f}", factor),
                     slower ? "slow" : "fast", signed_time(e.change_ps));
}

}  // namespace

std::string signed_time(std::int64_t ps) {
  return (ps < 0 ? "-" : "+") + time_of(static_cast<double>(ps));
}

std::string share_of_change(std::int64_t ps, std::int64_t change) {
  if (change == 0) return "-";
  return fmt::format("{:.1f}%", 100 * static_cast<double>(ps) / static_cast<double>(change));
}

std::string figure_text(double value, std::string const& unit) {
  if (unit == "ratio") return fmt::format("{:.1f}%", 100 * value);
  if (unit == "Hz") return to_text(Frequency{static_cast<std::uint64_t>(std::max(0.0, value))});
  return unit == "ps" ? time_of(value) : for_people(value);
}

std::string cause_text(Cause const& c) {
  auto text = fmt::format("{}, {} to {}", shown(c.what), figure_text(c.figure.a, c.unit),
                          figure_text(c.figure.b, c.unit));
  return c.per.empty() ? text : text + " " + c.per;
}

std::string setting_text(analysis::PairSetting const& s) {
  return fmt::format("{}: {} in A, {} in B", shown(s.name), value_of(s.a), value_of(s.b));
}

std::string differing_text(PairExplanation const& e, std::vector<std::size_t> const& settings) {
  std::string text;
  for (std::size_t i = 0; i < std::min(settings.size(), kSettingsNamed); ++i)
    text += (i == 0 ? "" : "; ") + setting_text(e.settings[settings[i]]);
  if (settings.size() > kSettingsNamed) text += fmt::format("; {} more", settings.size() - kSettingsNamed);
  return text;
}

namespace {

// The first reasons with the sign of the change, and the largest opposite one, each with its share.
std::string reasons_text(PairExplanation const& e) {
  auto const reasons = reasons_of(e);
  auto const share = [&](Reason const& r) {
    return std::abs(static_cast<double>(r.ps)) / std::abs(static_cast<double>(e.change_ps));
  };
  bool const times = std::ranges::any_of(reasons, [&](Reason const& r) { return share(r) > kMostShare; });
  auto const amount = [&](Reason const& r) {
    return times ? signed_time(r.ps) : share_of_change(r.ps, e.change_ps);
  };
  std::string text;
  std::size_t named = 0;
  for (auto const& r : reasons) {
    if (!explains(r.ps, e)) continue;
    if (named == kReasons || (named != 0 && share(r) < kNamed)) break;
    text += fmt::format("{}{}, {}{}", named == 0 ? "" : "; ", r.text, amount(r),
                        named == 0 && !times ? " of the change" : "");
    ++named;
  }
  auto const opposite = std::ranges::find_if(reasons, [&](Reason const& r) { return !explains(r.ps, e); });
  if (opposite != reasons.end() && share(*opposite) >= kNamed)
    text += fmt::format("; opposite effect: {}, {}", opposite->text, amount(*opposite));
  return text;
}

}  // namespace

std::string verdict_of(PairExplanation const& e) {
  auto const caveat = e.caveat.empty() ? std::string() : one_line(e.caveat) + ". ";
  if (e.change_ps == 0) return caveat + "B takes as long as A: " + time_of(static_cast<double>(e.a.end_ps));
  if (e.a.end_ps == 0 || e.b.end_ps == 0)
    return caveat + fmt::format("B takes {}, A takes {}", time_of(static_cast<double>(e.b.end_ps)),
                                time_of(static_cast<double>(e.a.end_ps)));
  auto const text = caveat + comparison_text(e) + ": ";
  if (e.below_resolution)
    return text + fmt::format("the change is below the resolution of the explanation, {:.0f}% of the end",
                              100 * analysis::kMatters);
  return text + reasons_text(e);
}

}  // namespace farfault::cli
