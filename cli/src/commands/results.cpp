// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "command_set.hpp"
#include "farfault/cli/compare.hpp"
#include "farfault/cli/exit_codes.hpp"
#include "farfault/cli/explain.hpp"
#include "farfault/cli/explain_pair.hpp"
#include "farfault/cli/inspect.hpp"
#include "farfault/cli/report.hpp"
#include "farfault/cli/result_files.hpp"
#include "farfault/cli/watch.hpp"
#include "farfault/engine/config.hpp"

namespace farfault::cli {
namespace {

struct ResultArguments {
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
  config.reject_errors();
  return limits;
}

}  // namespace

void add_inspect(CommandSet& set) {
  auto const o = std::make_shared<ResultArguments>();
  auto* const c = set.add(
      "inspect",
      "Identify a file and summarize its content: machine, configuration, graph, trace, result, checkpoint",
      "farfault inspect machine.xml --json", [&set, o] {
        inspect(o->file,
                o->dot    ? InspectForm::dot
                : o->json ? InspectForm::json
                          : InspectForm::readable,
                set.out(), limits_of(o->sets), set.extensions());
        return kDone;
      });
  c->add_option("file", o->file, "File, or name of a built-in machine or preset")
      ->required()
      ->type_name("FILE");
  auto* const json = c->add_flag("--json", o->json, "Print one JSON object");
  c->add_flag("--dot", o->dot, "Print a machine, or the GPU of a configuration, as a Graphviz graph")
      ->excludes(json);
  c->add_option("--set", o->sets, "Override a limit (farfault params limits); repeatable")
      ->type_name("limits.NAME=VALUE")
      ->allow_extra_args(false);
}

void add_compare(CommandSet& set) {
  auto const o = std::make_shared<ResultArguments>();
  auto* const c = set.add(
      "compare", "List the differences in configuration and figures of several results",
      "farfault compare before.h5 after.h5", [&set, o] {
        auto const form = o->json ? CompareForm::json : o->csv ? CompareForm::csv : CompareForm::readable;
        compare_results(o->files, form, o->all ? 0 : 30, set.out());
        return kDone;
      });
  c->add_option("results", o->files, "Results, or folder of a sweep; the first result is the reference")
      ->required()
      ->type_name("A.h5 B.h5");
  auto* const json = c->add_flag("--json", o->json, "Print one JSON object");
  c->add_flag("--csv", o->csv, "Print a table: one line per setting and figure, one column per result")
      ->excludes(json);
  c->add_flag("--all", o->all,
              "List every figure and setting that differs, including figures of single GPUs");
}

void add_explain(CommandSet& set) {
  auto const o = std::make_shared<ResultArguments>();
  auto* const c =
      set.add("explain",
              "Break down the time of a run: bottleneck, SM activity, access time by stage; of two results: "
              "why the second one takes more or less time",
              "farfault explain study.h5\n"
              "  farfault explain before.h5 after.h5      # causes of the change, the largest first",
              [&set, o] {
                if (o->other.empty())
                  explain_result(o->file, o->json, set.out());
                else
                  explain_results(o->file, o->other, o->json, set.out());
                return kDone;
              });
  c->add_option("result", o->file, "A result; of two results, the reference")->required()->type_name("A.h5");
  c->add_option("other", o->other, "Another result, compared with the first")->type_name("B.h5");
  c->add_flag("--json", o->json, "Print one JSON object");
}

void add_report(CommandSet& set) {
  auto const o = std::make_shared<ResultArguments>();
  auto* const c = set.add("report",
                          "Write an HTML page: bottleneck, machine and activity over time of each run, and a "
                          "comparison of several runs",
                          "farfault report study.h5 -o study.html\n"
                          "  farfault report results/placements       # folder of a sweep: its runs in order",
                          [&set, o] {
                            report_results(o->files, o->report, set.extensions(), set.out());
                            return kDone;
                          });
  c->add_option("results", o->files, "Results, or folder of a sweep; the first result is the reference")
      ->required()
      ->type_name("A.h5 [B.h5 ...]");
  c->add_option("-o,--output", o->report, "Page to write; an earlier report is replaced")
      ->capture_default_str()
      ->type_name("FILE");
}

void add_diff(CommandSet& set) {
  auto const o = std::make_shared<ResultArguments>();
  auto* const c = set.add("diff",
                          "Print the first difference of two results and the parameters that differ; exit "
                          "code 1 if the results differ",
                          "farfault diff before.h5 after.h5", [&set, o] {
                            return diff_results(o->file, o->other, o->json, set.out()) ? kDone : kRunFailed;
                          });
  c->add_option("a", o->file, "A result")->required()->type_name("A.h5");
  c->add_option("b", o->other, "Another result")->required()->type_name("B.h5");
  c->add_flag("--json", o->json, "Print one JSON object");
}

void add_validate(CommandSet& set) {
  auto const o = std::make_shared<ResultArguments>();
  auto* const c = set.add("validate", "Check that a result is complete and follows its schema",
                          "farfault validate study.h5", [&set, o] {
                            validate_result(o->file, o->json, set.out());
                            return kDone;
                          });
  c->add_option("file", o->file, "A result")->required()->type_name("F.h5");
  c->add_flag("--json", o->json, "Print one JSON object, with all faults");
}

void add_watch(CommandSet& set) {
  auto const o = std::make_shared<ResultArguments>();
  auto* const c = set.add("watch", "Show the progress and latest figures of a run or sweep",
                          "farfault watch study.h5\n"
                          "  farfault watch results/placements        # folder of a sweep\n"
                          "  farfault watch study.h5 --once >> log",
                          [&set, o] {
                            o->watch.path = o->file;
                            return watch(o->watch, set.out());
                          });
  c->add_option("file", o->file, "Result of a run (FILE.partial during the run), or folder of a sweep")
      ->required()
      ->type_name("F.h5");
  c->add_flag("--once", o->watch.once, "Print one frame and exit");
  c->add_option("--every", o->watch.every,
                "Seconds between frames (default: 1 on a terminal, else 60). A watched run flushes its "
                "samples every second instead of every 10 s")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 86400.0));
}

}  // namespace farfault::cli
