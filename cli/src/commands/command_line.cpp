// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ostream>
#include <sstream>

#include "command_set.hpp"
#include "farfault/engine/config.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/transport.hpp"
#include "process/shell_line.hpp"
#include "run/engine_values.hpp"

namespace farfault::cli {
namespace {

// CLI11's messages have several lines and contain its class names; a user gets one sentence.
std::string sentence_of(std::string_view message) {
  auto text = one_line(message);
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  bool const is_word = text.size() < 2 || text[1] >= 'a' || text[1] == ' ';  // not an acronym
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z' && is_word)
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

// "missing argument CONFIG (TOML file, or name of a preset)": the first required argument that is missing.
std::string missing_argument(CLI::App const& command) {
  for (auto const* option : command.get_options())
    if (option->get_required() && option->count() == 0)
      return "missing argument " + option->get_type_name() + " (" + sentence_of(option->get_description()) +
             ")";
  return "missing argument";
}

// "farfault 0.1.0 (commit 9f2c..., with changes)"; without a checkout, only the version.
std::string version() {
  constexpr std::string_view kChanges = " with changes";
  auto text = std::string("farfault ") + FARFAULT_VERSION;
  auto commit = program_commit();
  if (commit == "unknown") return text;
  auto const at = commit.find(kChanges);
  if (at != commit.npos) commit.insert(at, ",");
  return text + " (commit " + commit + ")";
}

class Program {
 public:
  Program(std::ostream& out, Extensions const& extensions) : out_(out), commands_(app_, out, extensions) {
    app_.name("farfault");
    app_.set_version_flag("--version", version());
    app_.require_subcommand(0, 1);  // a second word is not a subcommand: farfault params run
    app_.footer("Example:\n  farfault run study.toml --set gpu.l2_tlb.entries=1024 --output study.h5");
    add_run(commands_);
    add_sweep(commands_);
    add_params(commands_);
    add_workloads(commands_);
    add_statistics(commands_);
    add_inspect(commands_);
    add_compare(commands_);
    add_explain(commands_);
    add_report(commands_);
    add_diff(commands_);
    add_validate(commands_);
    add_watch(commands_);
    add_docs(commands_);
    add_completion(commands_);
  }

  int call(std::vector<std::string> words, std::ostream& err) {
    auto const names = commands_.names();
    auto const list = [&] {
      std::string text;
      for (auto const& n : names) text += (text.empty() ? "" : ", ") + n;
      return text;
    };
    if (words.empty())
      throw UserError("missing command; expected one of: " + list() + " (see farfault --help)");
    if (words[0].empty() || words[0][0] != '-') {
      if (std::find(names.begin(), names.end(), words[0]) == names.end()) {
        auto const near = nearest_name(words[0], names);
        throw UserError("unknown command '" + shown(words[0]) + "'; " +
                        (near.empty() ? "expected one of: " + list() : "did you mean '" + near + "'?"));
      }
    }
    commands_.set_words(shell_line(words));
    std::reverse(words.begin(), words.end());  // the order that CLI11 expects
    try {
      app_.parse(words);
    } catch (CLI::Success const& e) {  // --help, --version
      app_.exit(e, out_, err);
      return kDone;
    } catch (CLI::RequiredError const&) {  // only commands have required arguments
      auto const* const command = app_.get_subcommands().at(0);
      throw UserError(missing_argument(*command) + "; see farfault " + command->get_name() + " --help");
    } catch (CLI::ParseError const& e) {
      auto const chosen = app_.get_subcommands();
      auto const command = chosen.empty() ? std::string() : " " + chosen[0]->get_name();
      throw UserError(sentence_of(e.what()) + " (see farfault" + command + " --help)");
    }
    return commands_.run(err);
  }
  // True if the command line was valid.
  bool began() const { return commands_.began(); }

 private:
  std::ostream& out_;
  CLI::App app_{"Farfault simulates the virtual memory of multi-GPU machines."};
  CommandSet commands_;
};

}  // namespace

int command_line(std::vector<std::string> words, std::ostream& out, std::ostream& err,
                 Extensions const& extensions) {
  // Every rank reads the same command line; the first one reports errors.
  Program program(out, extensions);
  std::ostringstream failure;
  auto const code = exit_code_of(
      [&] {
        extensions.check();
        return program.call(std::move(words), err);
      },
      failure);
  if (program.began() || launched_rank() == 0) err << failure.str() << std::flush;
  out.flush();
  if (code == kDone && !out) {  // a full disk behind a redirection
    err << "farfault: cannot write the output" << std::endl;
    return kRunFailed;
  }
  return code;
}

}  // namespace farfault::cli
