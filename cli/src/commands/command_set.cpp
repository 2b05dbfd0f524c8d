// SPDX-License-Identifier: Apache-2.0
#include "command_set.hpp"

#include "farfault/cli/exit_codes.hpp"

namespace farfault::cli {

CLI::App* CommandSet::add(std::string const& name, std::string const& text, std::string const& example,
                          std::function<int()> body) {
  auto* const command = app_.add_subcommand(name, text);
  command->footer("Example:\n  " + example);
  command->callback([this, body = std::move(body)] { body_ = body; });
  return command;
}

std::vector<CLI::App const*> CommandSet::all() const {
  return std::as_const(app_).get_subcommands([](CLI::App const*) { return true; });
}

std::vector<std::string> CommandSet::names() const {
  std::vector<std::string> names;
  for (auto const* command : all()) names.push_back(command->get_name());
  return names;
}

int CommandSet::run(std::ostream& err) {
  err_ = &err;
  return body_ ? body_() : kDone;
}

}  // namespace farfault::cli
