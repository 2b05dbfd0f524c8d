// SPDX-License-Identifier: Apache-2.0
// Lists of parameters, workloads and statistics: `farfault params`, `farfault workloads` and `farfault
// statistics`.
//
// Guarantees: the lists are generated from the declarations of parameters, workloads and components, the
// only description of each.
#pragma once

#include <iosfwd>
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
    std::shared_ptr<void> spec;  // the object that the table refers to
  };

  template <class Spec>
  void add(std::string_view name, std::string_view text) {
    auto spec = std::make_shared<Spec>();
    Section section{std::string(name), std::string(text), {}, nullptr};
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

// All parameters, or only the keys that begin with `section`; throws UserError if none matches.
void list_parameters(ParameterSections const& sections, std::string const& section, bool json,
                     std::ostream& out);

void list_workloads(std::vector<workloads::WorkloadInfo> const& workloads, bool json, std::ostream& out);

struct RunOptions;
// Every statistic and table column that a run of the configuration would record, by its path in the result.
void list_statistics(RunOptions const& options, bool json, std::ostream& out);

}  // namespace farfault::cli
