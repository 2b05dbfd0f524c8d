// SPDX-License-Identifier: Apache-2.0
// Builds a model from the text of a configuration with applications, or returns the refusal.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "capture.hpp"
#include "model/model.hpp"
#include "two_applications.hpp"

namespace two_applications {

using namespace farfault;
using namespace farfault::cli;

inline RunOptions options_of(std::string const& toml, std::vector<std::string> const& sets) {
  RunOptions options;
  options.config_path = scratch("f.toml", toml);
  options.sets = sets;
  return options;
}

// The model's applications after their workloads are built.
struct Built {
  explicit Built(std::string const& toml, std::vector<std::string> const& sets = {})
      : options(options_of(toml, sets)), model(options) {
    model.build_workloads();
  }
  Application const& operator[](std::uint32_t a) const { return model.applications.applications()[a]; }
  RunOptions options;
  Model model;
};

inline std::string list_of(std::vector<std::uint32_t> const& numbers) {
  std::string text;
  for (auto const n : numbers) text += (text.empty() ? "" : " ") + std::to_string(n);
  return text;
}

// The error messages of the program, without the name of the file.
inline std::string refusal(std::string const& toml, std::vector<std::string> const& sets = {}) {
  auto const config = scratch("bad.toml", toml);
  std::vector<std::string> words{"run",        config, "--output", (folder() / "bad.h5").string(),
                                 "--progress", "off"};
  for (auto const& s : sets) {
    words.emplace_back("--set");
    words.push_back(s);
  }
  auto const called = farfault_program(words);
  CHECK(called.code == 2);
  CHECK(called.out == "");
  auto text = called.err;
  for (auto const& word : {std::string("farfault: "), config + ":", config})
    for (auto at = text.find(word); at != text.npos; at = text.find(word)) text.erase(at, word.size());
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

// Two applications with these additional lines.
inline std::string refusal_of(std::string const& of_fir, std::string const& of_sort = "") {
  return refusal(kBase + "[[application]]\nworkload = \"fir\"\n" + of_fir +
                 "[[application]]\nworkload = \"stream\"\n" + of_sort);
}

}  // namespace two_applications
