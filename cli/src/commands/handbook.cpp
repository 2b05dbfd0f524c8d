// SPDX-License-Identifier: Apache-2.0
#include "show/handbook.hpp"

#include <memory>
#include <ostream>

#include "command_set.hpp"
#include "farfault/cli/command_line.hpp"
#include "process/shell_line.hpp"

namespace farfault::cli {

void add_docs(CommandSet& set) {
  auto const word = std::make_shared<std::string>();
  auto* const c = set.add("docs", "Open the handbook, or print the page that defines a word",
                          "farfault docs\n"
                          "  farfault docs gpu.l2_tlb.entries         # a parameter\n"
                          "  farfault docs /timeseries/l2_tlb/hits    # a statistic\n"
                          "  farfault docs eviction_order             # the last part of a key or path\n"
                          "  farfault docs driver_busy_time           # a statistic as compare prints it\n"
                          "  farfault docs far-fault                  # a term of the glossary",
                          [&set, word] {
                            auto const folder = handbook_folder(program_path());
                            if (word->empty()) {
                              auto const page = folder + "/index.html";
                              set.out() << page << "\n";
                              open_in_browser(page);
                              return kDone;
                            }
                            for (auto const& place : handbook_places(folder, *word))
                              set.out() << place << "\n";
                            return kDone;
                          });
  c->add_option("word", *word,
                "Parameter, statistic, table, command, preset, workload or term; if several names end with "
                "it, all are listed with their pages")
      ->type_name("WORD");
}

}  // namespace farfault::cli
