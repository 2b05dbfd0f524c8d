// What can be written into a configuration: `farfault params` and `farfault workloads`.
//
// Guarantees: both print what the parameters' and workloads' own declarations say; nothing is described
// twice.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "farfault/engine/params.hpp"

namespace farfault::cli {

// All sections of a configuration, with default values.
class ParameterSections {
 public:
  struct Section {
    std::string name;  // "gpu"; the key of a parameter is "<name>.<parameter>"
    std::string text;  // one line
    ParamTable table;
    std::shared_ptr<void> spec;  // what the table refers to
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

// Every section that a configuration of this program can hold, in the order in which a user meets them.
ParameterSections parameter_sections();

// All parameters, or those whose key begins with `section`; throws UserError where there are none.
void list_parameters(ParameterSections const& sections, std::string const& section, bool json,
                     std::ostream& out);

void list_workloads(bool json, std::ostream& out);

}  // namespace farfault::cli
