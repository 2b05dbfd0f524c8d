// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/sweep.hpp"

#include <memory>

#include "command_set.hpp"
#include "farfault/cli/progress.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/units.hpp"

namespace farfault::cli {
namespace {

struct SweepArguments {
  SweepOptions sweep;
  std::optional<std::uint32_t> threads;
  std::string memory, total_memory, part;
  std::string progress = "auto";
};

ByteSize size(std::string const& option, std::string const& text) {
  try {
    auto const b = parse_bytes(text);
    if (b.bytes == 0) throw UserError(option + " '" + text + "' must be greater than zero");
    return b;
  } catch (UnitError const& e) {
    throw UserError(option + " " + e.what());
  }
}

}  // namespace

void add_sweep(CommandSet& set) {
  auto const o = std::make_shared<SweepArguments>();
  auto* const c = set.add(
      "sweep", "Execute the runs of a study, several at a time, and write one table of them",
      "farfault sweep study.toml --jobs 8\n"
      "  farfault sweep study.toml --dry-run      # how many runs, how long, and where\n"
      "  farfault sweep study.toml --slurm        # as an array job\n"
      "\n"
      "A study:\n"
      "  base = \"paper-gmmu-bypass\"             # a configuration: file or preset\n"
      "  [config]                               # settings of all runs\n"
      "  workload.name = \"stream\"\n"
      "  [sweep]\n"
      "  output = \"results/study\"               # folder, as seen from this file\n"
      "  seeds = 3                              # run.seed from 1 to 3, with the spread; or a list\n"
      "  [sweep.grid]                           # all combinations\n"
      "  workload.stream.bytes = [\"64 KiB\", \"1 MiB\"]\n"
      "  gpu.router.policy = [\"distributed\", \"gmmu_bypass\"]\n"
      "The handbook (docs/guide/study-files.md) describes [[sweep.list]], single points with a name and a\n"
      "cost, and [sweep.random].\n"
      "\n"
      "Speedups, in [sweep]:\n"
      "  baseline = { gpu.router.policy = \"distributed\" }   # or the name of a point\n"
      "  mean_over = \"workload.stream.bytes\"     # geometric mean\n"
      "  figures = [\"iommu_walks\"]              # with their ratios to the baseline\n"
      "  farfault sweep study.toml --pivot gpu.router.policy workload.stream.bytes\n"
      "prints the speedup of two dimensions, or another --figure.\n"
      "\n"
      "Only missing or outdated runs are executed: a result of the same configuration, input files and "
      "program\n"
      "is cached. The table is DIR/sweep.h5 and DIR/sweep.csv, the results are in DIR/runs.\n"
      "\n"
      "SIGINT, SIGTERM, SIGUSR1 and SIGHUP save the active runs; the same command continues them.\n"
      "\n"
      "Exit codes:\n"
      "  0 done, 1 some runs failed or are missing (see the table), 2 invalid study,\n"
      "  3 stopped by a signal, active runs saved",
      [&set, o] {
        o->sweep.threads = o->threads.value_or(1);
        o->sweep.progress = progress_mode(o->progress);
        o->sweep.extensions = set.extensions();
        if (!o->memory.empty()) o->sweep.memory = size("--memory", o->memory);
        if (!o->total_memory.empty()) o->sweep.total_memory = size("--total-memory", o->total_memory);
        if (!o->part.empty()) o->sweep.part = sweep_part(o->part);
        return sweep(o->sweep, set.out(), set.err());
      });
  c->add_option("study", o->sweep.study, "TOML file")->required()->type_name("STUDY.toml");
  c->add_option("--set", o->sweep.sets, "Override a parameter of all runs; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  c->add_option("--output", o->sweep.output, "Folder (default: sweep.output of the study, or its name)")
      ->type_name("DIR");
  c->add_option("--jobs", o->sweep.jobs, "Concurrent runs (default: as many as the cores allow)")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  c->add_option("--threads", o->threads, "Worker threads of each run (default: 1)")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  c->add_option("--memory", o->memory, "Memory limit of each run; a run that exceeds it fails")
      ->type_name("SIZE");
  c->add_option(
       "--total-memory", o->total_memory,
       "Memory of all concurrent runs, each counted with its --memory (default: memory of this machine)")
      ->type_name("SIZE");
  c->add_option("--checkpoint-minutes", o->sweep.checkpoint_minutes,
                "Minutes between checkpoints of each run, in case a node fails (default: 30)")
      ->type_name("N")
      ->check(CLI::Range(0.001, 1e6));
  auto* const dry = c->add_flag(
      "--dry-run", o->sweep.dry_run,
      "Print the number of runs and of checkpoints, the estimated time and the folder, and with --slurm "
      "the time of a part; write no result. Without cached results, one run is simulated for up to a minute");
  auto* const part =
      c->add_option("--part", o->part, "Execute the I-th of N shares of the runs, and write no table")
          ->type_name("I/N");
  auto* const collect =
      c->add_flag("--collect", o->sweep.collect,
                  "Write the table of the existing results, and execute no runs; the exit code is 1 "
                  "if runs are missing");
  auto* const slurm = c->add_flag("--slurm", o->sweep.slurm, "Write a Slurm array job, and submit it");
  collect->excludes(part)->excludes(dry)->excludes(slurm);
  slurm->excludes(part);
  auto* const pivot = c->add_option(
      "--pivot", o->sweep.pivot.keys,
      "Print a figure over two varied keys, the first one from left to right; `name`: the names "
      "of the points of the list");
  pivot->expected(2)->allow_extra_args(false)->type_name("X Y");
  pivot->excludes(part)->excludes(dry)->excludes(slurm);
  c->add_option(
       "--figure", o->sweep.pivot.figure,
       "Figure of --pivot: a column of sweep.csv, or FIGURE_ratio, its ratio to the baseline (default: "
       "speedup with a baseline, else end)")
      ->type_name("FIGURE")
      ->needs(pivot);
  c->add_flag("--json", o->sweep.json,
              "Print the table as one JSON object: runs, spread over the seeds, and means; with --pivot, its "
              "figure")
      ->excludes(part)
      ->excludes(dry)
      ->excludes(slurm);
  c->add_option("--progress", o->progress, "Progress reports")
      ->type_name("auto|on|off")
      ->capture_default_str();
}

}  // namespace farfault::cli
