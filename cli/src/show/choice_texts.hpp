// SPDX-License-Identifier: Apache-2.0
// Private: the alternatives of a parameter that is a choice, each with its description.
//
// A choice describes its alternatives in its text, in one of two forms:
//   "What it selects. NAME: description; NAME: description"   (PolicyChoice::describe writes this form)
//   "What it selects: NAME, description; NAME, description"
// In any other text the alternatives have no descriptions of their own.
#pragma once

#include <string>
#include <vector>

#include "farfault/engine/params.hpp"

namespace farfault::cli {

struct ChoiceTexts {
  struct Alternative {
    std::string name;
    std::string text;  // empty: the choice's text describes it
  };
  std::string text;  // the parameter's text without the descriptions of alternatives
  std::vector<Alternative> alternatives;
};

// No text is lost. A parameter that is not a choice has no alternatives.
ChoiceTexts choice_texts(Param const& p);

}  // namespace farfault::cli
