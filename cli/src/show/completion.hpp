// SPDX-License-Identifier: Apache-2.0
// Private: shell completion of command lines.
//
// A shell script (shell_script) passes the words of a line to `farfault completion words`, which prints the
// candidates for the last one (completions). All shells therefore complete the same way, from the definitions
// of the commands, and a program with extensions completes their names too.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "farfault/cli/parameter_sections.hpp"

namespace farfault::cli {

struct OptionInfo {
  std::string name;  // "--set"
  std::string text;
  std::string value;       // as in the help: "KEY=VALUE", "auto|on|off"; empty: no value
  std::size_t values = 1;  // number of words that it takes
};

struct CommandInfo {
  std::string name;
  std::string text;
  std::vector<OptionInfo> options;
  std::vector<std::string> operands;  // as in the help: "CONFIG"; further operands are like the last
};

struct CompletionSource {
  std::vector<CommandInfo> commands;
  std::vector<std::string> presets, workloads;
  ParameterSections parameters;
};

// `words`: the words of a command line without the program's name, up to the cursor. One line per candidate
// for the last word: the word, a tab, its description. Or ":files .toml .h5" (files with these endings; all
// files if no ending is given) or ":folders", which the shell completes itself.
std::string completions(CompletionSource const& source, std::vector<std::string> const& words);

// For "bash", "zsh" or "fish"; throws UserError for anything else.
std::string shell_script(std::string_view shell);

}  // namespace farfault::cli
