// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "command_set.hpp"
#include "farfault/cli/command_line.hpp"
#include "farfault/cli/compare.hpp"
#include "farfault/cli/explain.hpp"
#include "farfault/cli/inspect.hpp"
#include "farfault/cli/report.hpp"
#include "farfault/cli/result_files.hpp"
#include "farfault/cli/watch.hpp"
#include "farfault/engine/config.hpp"

namespace farfault::cli {
namespace {

struct ResultWords {
  std::string file, other;
  std::vector<std::string> sets, files;
  std::string report = "report.html";
  WatchOptions watch;
  bool json = false;
  bool csv = false;
  bool all = false;
  bool dot = false;
};

InputLimits limits_of(std::vector<std::string> const& sets) {
  Config config;
  for (auto const& s : sets) config.set(s);
  InputLimits limits;
  ParamTable table;
  limits.describe(table);
  config.bind("limits", table);
  config.reject_mistakes();
  return limits;
}

}  // namespace

void add_inspect(CommandSet& set) {
  auto const o = std::make_shared<ResultWords>();
  auto* const c =
      set.add("inspect", "Say what a file is and holds: topology, graph, trace, result, checkpoint",
              "farfault inspect machine.xml --json", [&set, o] {
                inspect(o->file,
                        o->dot    ? InspectForm::dot
                        : o->json ? InspectForm::json
                                  : InspectForm::readable,
                        set.out(), limits_of(o->sets), set.extensions().machine_formats());
                return kDone;
              });
  c->add_option("file", o->file, "The file, or the name of a built-in machine")
      ->required()
      ->type_name("FILE");
  auto* const json = c->add_flag("--json", o->json, "One JSON object");
  c->add_flag("--dot", o->dot, "A topology as a Graphviz graph")->excludes(json);
  c->add_option("--set", o->sets, "Override one limit (farfault params limits); may be given again")
      ->type_name("limits.NAME=VALUE")
      ->allow_extra_args(false);
}

void add_compare(CommandSet& set) {
  auto const o = std::make_shared<ResultWords>();
  auto* const c = set.add(
      "compare", "Say what was configured differently in several results, and what came out differently",
      "farfault compare before.h5 after.h5", [&set, o] {
        auto const form = o->json ? CompareForm::json : o->csv ? CompareForm::csv : CompareForm::readable;
        compare_results(o->files, form, o->all ? 0 : 30, set.out());
        return kDone;
      });
  c->add_option("results", o->files,
                "Results, or the folder of a sweep; the others are compared with the first")
      ->required()
      ->type_name("A.h5 B.h5");
  auto* const json = c->add_flag("--json", o->json, "One JSON object");
  c->add_flag("--csv", o->csv, "A table: a line for each setting and figure, a column for each result")
      ->excludes(json);
  c->add_flag("--all", o->all, "Every figure that differs, those of single GPUs included");
}

void add_explain(CommandSet& set) {
  auto const o = std::make_shared<ResultWords>();
  auto* const c = set.add("explain",
                          "Say why a run took as long as it did: what bounds it, what its SMs did, where the "
                          "time of an access went",
                          "farfault explain study.h5", [&set, o] {
                            explain_result(o->file, o->json, set.out());
                            return kDone;
                          });
  c->add_option("result", o->file, "A result")->required()->type_name("F.h5");
  c->add_flag("--json", o->json, "One JSON object");
}

void add_report(CommandSet& set) {
  auto const o = std::make_shared<ResultWords>();
  auto* const c =
      set.add("report",
              "Write one page for a browser: what bounds a run, its machine, what it did over time, "
              "and several runs side by side",
              "farfault report study.h5 -o study.html\n"
              "  farfault report results/placements       # the folder of a sweep: its runs in order",
              [&set, o] {
                report_results(o->files, o->report, set.out());
                return kDone;
              });
  c->add_option("results", o->files,
                "Results, or the folder of a sweep; several are compared with the first one")
      ->required()
      ->type_name("A.h5 [B.h5 ...]");
  c->add_option("-o,--output", o->report, "The page; an earlier report of this name is replaced")
      ->capture_default_str()
      ->type_name("FILE");
}

void add_diff(CommandSet& set) {
  auto const o = std::make_shared<ResultWords>();
  auto* const c = set.add(
      "diff",
      "Say where two results differ first, and in which parameters; exit code 1 when the results differ",
      "farfault diff before.h5 after.h5",
      [&set, o] { return diff_results(o->file, o->other, set.out()) ? kDone : kRunFailed; });
  c->add_option("a", o->file, "A result")->required()->type_name("A.h5");
  c->add_option("b", o->other, "Another")->required()->type_name("B.h5");
}

void add_validate(CommandSet& set) {
  auto const o = std::make_shared<ResultWords>();
  auto* const c = set.add("validate", "Check that a result is whole and follows its schema",
                          "farfault validate study.h5", [&set, o] {
                            validate_result(o->file, set.out());
                            return kDone;
                          });
  c->add_option("file", o->file, "A result")->required()->type_name("F.h5");
}

void add_watch(CommandSet& set) {
  auto const o = std::make_shared<ResultWords>();
  auto* const c = set.add("watch", "Show how far a run or a sweep is, with its latest figures",
                          "farfault watch study.h5\n"
                          "  farfault watch results/placements        # the folder of a sweep\n"
                          "  farfault watch study.h5 --once >> log",
                          [&set, o] {
                            o->watch.path = o->file;
                            return watch(o->watch, set.out());
                          });
  c->add_option("file", o->file, "The result of a run, whose FILE.partial grows; or the folder of a sweep")
      ->required()
      ->type_name("F.h5");
  c->add_flag("--once", o->watch.once, "One frame, and no more");
  c->add_option("--every", o->watch.every,
                "Seconds between frames (default: 1 on a terminal, elsewhere 60). While somebody watches, "
                "a run writes its samples out every second, else every 10 s")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 86400.0));
}

}  // namespace farfault::cli
