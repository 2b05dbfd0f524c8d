// SPDX-License-Identifier: Apache-2.0
// Private: the commands of the program, defined with CLI11.
//
// Each command is a function of a file in this folder that declares its options and its action. It owns the
// values of its options, so that no two commands share an option by accident.
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

  // `body` runs after the words are parsed, and returns the exit code.
  CLI::App* add(std::string const& name, std::string const& text, std::string const& example,
                std::function<int()> body);
  std::vector<CLI::App const*> all() const;
  std::vector<std::string> names() const;
  // Runs the selected command.
  int run(std::ostream& err);

  std::ostream& out() const { return out_; }
  std::ostream& err() const { return *err_; }  // within a body
  // True if a body has started and its words were valid.
  bool began() const { return err_ != nullptr && !reading_; }
  // Within a body: checks words that every rank has, so that only one rank reports an error.
  void read_words(std::function<void()> const& read) {
    reading_ = true;
    read();
    reading_ = false;
  }
  Extensions const& extensions() const { return extensions_; }

  // The command line in shell syntax.
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
void add_docs(CommandSet& set);
void add_completion(CommandSet& set);

inline void add_json(CLI::App* command, bool& json) {
  command->add_flag("--json", json, "Print one JSON object");
}

}  // namespace farfault::cli
