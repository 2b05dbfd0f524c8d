// SPDX-License-Identifier: Apache-2.0
#include "show/completion.hpp"

#include <algorithm>
#include <memory>

#include "command_set.hpp"
#include "farfault/cli/exit_codes.hpp"
#include "farfault/topologies/machine_config.hpp"

namespace farfault::cli {
namespace {

struct CompletionArguments {
  std::string shell;
  std::vector<std::string> words;
};

// The commands, from their definitions.
CompletionSource completion_source(CommandSet const& set) {
  CompletionSource source{{}, topologies::preset_names(), {}, parameter_sections(set.extensions())};
  for (auto const& w : set.extensions().workloads()) source.workloads.push_back(w.name);
  for (auto const* sub : set.all()) {
    CommandInfo info{sub->get_name(), sub->get_description(), {}, {}};
    for (auto const* option : sub->get_options()) {
      auto const value = option->get_items_expected_max() == 0 ? "" : option->get_type_name();
      if (option->get_positional())
        info.operands.push_back(value);
      else if (!option->get_lnames().empty())
        info.options.push_back({"--" + option->get_lnames()[0], option->get_description(), value,
                                static_cast<std::size_t>(std::max(option->get_items_expected_min(), 1))});
    }
    source.commands.push_back(std::move(info));
  }
  return source;
}

}  // namespace

void add_completion(CommandSet& set) {
  auto const o = std::make_shared<CompletionArguments>();
  auto* const c =
      set.add("completion", "Print a script for shell completion of commands, options and parameters",
              "farfault completion bash > ~/.local/share/bash-completion/completions/farfault\n"
              "  farfault completion zsh > ~/.zfunc/_farfault   # in a folder of fpath\n"
              "  farfault completion fish > ~/.config/fish/completions/farfault.fish\n"
              "  eval \"$(farfault completion bash)\"             # in this shell only; or zsh\n"
              "\n"
              "The scripts ask `farfault completion words -- WORD ...`, which prints the candidates for\n"
              "the last word.",
              [&set, o] {
                if (o->shell == "words")
                  set.out() << completions(completion_source(set), o->words);
                else
                  set.out() << shell_script(o->shell);
                return kDone;
              });
  c->add_option("shell", o->shell, "Shell")->required()->type_name("bash|zsh|fish");
  c->add_option("words", o->words, "After `words --`: command line to complete")->type_name("WORD");
}

}  // namespace farfault::cli
