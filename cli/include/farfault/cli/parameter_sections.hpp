// SPDX-License-Identifier: Apache-2.0
// The sections of a configuration, generated from the declarations of parameters.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "farfault/cli/extensions.hpp"
#include "farfault/engine/params.hpp"

namespace farfault::cli {

// All sections of a configuration, with default values.
class ParameterSections {
 public:
  struct Section {
    std::string name;  // "gpu"; the key of a parameter is "<name>.<parameter>"
    std::string text;  // one line
    ParamTable table;
    std::shared_ptr<void> spec = nullptr;  // the object that the table refers to
    // Maximum number of tables, if the section is an array of named tables; else 0.
    std::size_t most_tables = 0;
  };

  template <class Spec>
  void add(std::string_view name, std::string_view text, std::size_t most_tables = 0) {
    auto spec = std::make_shared<Spec>();
    Section section{
        .name = std::string(name), .text = std::string(text), .table = {}, .most_tables = most_tables};
    spec->describe(section.table);
    section.spec = std::move(spec);
    all_.push_back(std::move(section));
  }
  void add(Section section) { all_.push_back(std::move(section)); }

  std::vector<Section> const& all() const { return all_; }

 private:
  std::vector<Section> all_;
};

// Every section of a configuration, in the order of `farfault params`.
ParameterSections parameter_sections(Extensions const& extensions = {});

}  // namespace farfault::cli
