// SPDX-License-Identifier: Apache-2.0
// Private: a command of this program in shell syntax, and the program's path.
#pragma once

#include <string>
#include <vector>

namespace farfault::cli {

// A word, quoted if the shell would interpret it.
std::string shell_word(std::string const& word);

// "farfault run study.toml --set 'workload.name=two words'"
std::string shell_line(std::vector<std::string> const& words);

// Path of the running program: a batch job starts it, and files are installed relative to it.
std::string program_path();

}  // namespace farfault::cli
