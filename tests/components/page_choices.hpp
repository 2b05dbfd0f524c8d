// SPDX-License-Identifier: Apache-2.0
// Choices within an event of the small world: the search (page_search.hpp) takes the event once for each way
// to make them. The decision about pages that changes at each step is the one that uses them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "farfault/paging/page_decision.hpp"

namespace farfault::page_world {

// The ways to make the choices of one event. The number and the options of later choices may depend on
// earlier ones.
class Choices {
 public:
  void start() { made_.clear(), at_ = 0; }
  // 0 to options - 1.
  std::uint64_t choose(std::uint64_t options) {
    if (at_ == made_.size()) made_.push_back({0, options});
    return made_[at_++].option;
  }
  // Goes to the next way; false: all have been taken.
  bool next() {
    while (!made_.empty() && made_.back().option + 1 == made_.back().options) made_.pop_back();
    at_ = 0;
    if (made_.empty()) return false;
    ++made_.back().option;
    return true;
  }

 private:
  struct Choice {
    std::uint64_t option, options;
  };
  std::vector<Choice> made_;
  std::size_t at_ = 0;
};
inline Choices choices;

inline constexpr char const* kAnyDecision = "any_decision";

// Decides all that page_decision.hpp allows.
template <bool MakesCopies>
struct AnyDecision final : PageDecision {
  static constexpr Facts facts() {
    using enum PageEventKind;
    return {.moves_pages = true,
            .makes_copies = MakesCopies,
            .events = {request, write_to_copies, fault, counted},
            .stays_at_faults = true};
  }
  PageAction decide(PageEvent const& e) override {
    bool const writes = e.access == Access::write;
    std::array<PageAction, 3> allowed{PageAction::move_here};
    std::size_t n = 1;
    if (!writes || !e.has_copies) allowed.at(n++) = PageAction::stay;
    if (!writes && MakesCopies) allowed.at(n++) = PageAction::copy_here;
    return allowed.at(choices.choose(n));
  }
  void forget(std::uint64_t) override {}
};

inline PolicyChoice<PageDecision> any_decision(bool makes_copies) {
  Policies external;
  makes_copies ? external.add<AnyDecision<true>>(kAnyDecision, "of a test")
               : external.add<AnyDecision<false>>(kAnyDecision, "of a test");
  ParamTable table(&external);
  PolicyChoice<PageDecision> choice("remote_access");
  choice.describe(table, "policy", "of a test", "assumed");
  choice.choose(kAnyDecision);
  return choice;
}

}  // namespace farfault::page_world
