// SPDX-License-Identifier: Apache-2.0
// Private: the commands of the program, as CLI11 reads them.
//
// Each command is a function that declares its options, and what is done with them, in a file of this folder;
// what its words say it owns, so that no two commands share an option by accident.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "farfault/cli/extensions.hpp"

namespace farfault::cli {

class CommandSet {
 public:
  CommandSet(CLI::App& app, std::ostream& out, Extensions const& extensions)
      : app_(app), out_(out), extensions_(extensions) {}

  // `body` is done once the words are understood, and returns the exit code.
  CLI::App* add(std::string const& name, std::string const& text, std::string const& example,
                std::function<int()> body);
  std::vector<CLI::App const*> all() const;
  std::vector<std::string> names() const;
  // Of the command that was chosen.
  int run(std::ostream& err);

  std::ostream& out() const { return out_; }
  std::ostream& err() const { return *err_; }  // within a body
  // Whether a body has begun, and the words that it was given were right.
  bool began() const { return err_ != nullptr && !reading_; }
  // Within a body: what looks at words that every rank has, so that one of them tells what is wrong.
  void read_words(std::function<void()> const& read) {
    reading_ = true;
    read();
    reading_ = false;
  }
  Extensions const& extensions() const { return extensions_; }

  // The command line, as the user could write it in a shell.
  std::string const& words() const { return words_; }
  void set_words(std::string words) { words_ = std::move(words); }

 private:
  CLI::App& app_;
  std::ostream& out_;
  std::ostream* err_ = nullptr;
  bool reading_ = false;
  Extensions extensions_;
  std::string words_;
  std::function<int()> body_;
};

void add_run(CommandSet& set);
void add_sweep(CommandSet& set);
void add_params(CommandSet& set);
void add_workloads(CommandSet& set);
void add_statistics(CommandSet& set);
void add_inspect(CommandSet& set);
void add_compare(CommandSet& set);
void add_explain(CommandSet& set);
void add_report(CommandSet& set);
void add_diff(CommandSet& set);
void add_validate(CommandSet& set);
void add_watch(CommandSet& set);
void add_completion(CommandSet& set);

inline void add_json(CLI::App* command, bool& json) {
  command->add_flag("--json", json, "One JSON object");
}

}  // namespace farfault::cli
