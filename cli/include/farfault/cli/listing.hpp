// SPDX-License-Identifier: Apache-2.0
// Lists of parameters, workloads and statistics: `farfault params`, `farfault workloads` and `farfault
// statistics`; a schema of configuration files.
//
// - Source: the declarations of parameters, workloads and components, the only description of each.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "farfault/cli/parameter_sections.hpp"
#include "farfault/workloads/registry.hpp"

namespace farfault::cli {

struct ListingOptions {
  std::string section;              // of parameters: only keys at and below it
  std::vector<std::string> search;  // only entries with all of these words; empty: all entries
  bool json = false;                // one JSON object
  std::size_t columns = 100;        // line width of the text output; unused with json
  std::string workload = {};        // of workloads: only this one, with its sizes
};

// Throw UserError if no entry is listed.
// A search compares keys, texts, choices and sources of parameters.
void list_parameters(ParameterSections const& sections, ListingOptions const& options, std::ostream& out);
// Sizes are listed with footprint, accesses and estimated time: with `workload`, or as JSON. Each is built
// for this, which takes about a minute for all workloads; progress appears on a terminal's standard error.
void list_workloads(std::vector<workloads::WorkloadInfo> const& workloads, ListingOptions const& options,
                    std::ostream& out);

struct RunOptions;
// Every statistic and table column that a run of the configuration would record, by its path in the result.
// A search compares paths, units, kinds and texts.
void list_statistics(RunOptions const& run, ListingOptions const& options, std::ostream& out);

// JSON Schema (draft 7, with Taplo's extension for the texts of choices) of a configuration file in TOML, for
// completion and checks in editors. It refuses no file that a run accepts; a run also checks what a
// schema cannot state. `presets`: names offered for `include`.
void print_schema(ParameterSections const& sections, std::vector<std::string> const& presets,
                  std::ostream& out);

}  // namespace farfault::cli
