// SPDX-License-Identifier: Apache-2.0
// Private: completion of command lines in a shell.
//
// A script for the shell (shell_script) gives the words of a line to `farfault completion words`, which says
// what may stand in place of the last one (completions). So all shells complete the same, from the commands'
// own definitions, and a program with extensions completes what these add.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "farfault/cli/listing.hpp"

namespace farfault::cli {

struct OptionInfo {
  std::string name;  // "--set"
  std::string text;
  std::string value;  // as help calls it: "KEY=VALUE", "auto|on|off"; empty: none follows
};

struct CommandInfo {
  std::string name;
  std::string text;
  std::vector<OptionInfo> options;
  std::vector<std::string> operands;  // as help calls them: "CONFIG"; further ones are as the last
};

struct CompletionSource {
  std::vector<CommandInfo> commands;
  std::vector<std::string> presets, workloads;
  ParameterSections parameters;
};

// `words`: those of a command line without the program's name, up to the cursor. A line for each word that
// may stand in place of the last one: the word, a tab, what it is; or ":files .toml .h5" (files that end so,
// all where no end is named) or ":folders", which the shell knows better how to complete.
std::string completions(CompletionSource const& source, std::vector<std::string> const& words);

// For "bash", "zsh" or "fish"; throws UserError for anything else.
std::string shell_script(std::string_view shell);

}  // namespace farfault::cli
