// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/sweep.hpp"

#include <memory>

#include "command_set.hpp"
#include "farfault/cli/command_line.hpp"
#include "farfault/cli/progress.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/units.hpp"

namespace farfault::cli {
namespace {

struct SweepWords {
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
  auto const o = std::make_shared<SweepWords>();
  auto* const c =
      set.add("sweep", "Run all points of a study, several at a time, and make one table of them",
              "farfault sweep study.toml --jobs 8\n"
              "  farfault sweep study.toml --dry-run      # how many runs, how long, and where\n"
              "  farfault sweep study.toml --slurm        # as an array job\n\n"
              "A study:\n"
              "  base = \"paper-gmmu-bypass\"             # a configuration: file or preset\n"
              "  [config]                               # settings that all runs share\n"
              "  workload.name = \"stream\"\n"
              "  [sweep]\n"
              "  output = \"results/study\"               # folder, as seen from this file\n"
              "  seeds = 3                              # or a list: run.seed, with the spread over them\n"
              "  [sweep.grid]                           # all combinations\n"
              "  workload.stream.bytes = [\"64 KiB\", \"1 MiB\"]\n"
              "  gpu.router.policy = [\"distributed\", \"gmmu_bypass\"]\n"
              "There are also [[sweep.list]], points one by one, each with a name and a cost, and "
              "[sweep.random]: see\n"
              "cli/README.md.\n\n"
              "A run whose result is there, made of the same configuration and input files by this "
              "program, is not\n"
              "made again. The table is DIR/sweep.h5 and DIR/sweep.csv, the results are in DIR/runs.\n\n"
              "Exit codes:\n  0 done, 1 some runs failed (the table says why), 2 the study is wrong, 3 "
              "stopped by a "
              "signal",
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
  c->add_option("--set", o->sweep.sets, "Override a parameter of all runs; may be given again")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  c->add_option("--output", o->sweep.output, "Folder (default: as the study says, or its name)")
      ->type_name("DIR");
  c->add_option("--jobs", o->sweep.jobs, "Runs at a time (default: as many as there are cores for)")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  c->add_option("--threads", o->threads, "Worker threads of each run (default: 1)")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  c->add_option("--memory", o->memory, "What each run may take; one that needs more fails")
      ->type_name("SIZE");
  c->add_option("--total-memory", o->total_memory,
                "What all runs at a time may take, each its --memory (default: that of this machine)")
      ->type_name("SIZE");
  auto* const dry = c->add_flag(
      "--dry-run", o->sweep.dry_run,
      "Say how many runs there are, how long they take, and where; make no result. Where there is "
      "none yet, the first run is simulated for up to a minute");
  auto* const part = c->add_option("--part", o->part, "Make the I-th of N shares of the runs, and no table")
                         ->type_name("I/N");
  auto* const collect =
      c->add_flag("--collect", o->sweep.collect, "Make the table of what is there, and no runs");
  auto* const slurm = c->add_flag("--slurm", o->sweep.slurm, "Write an array job of Slurm, and submit it");
  collect->excludes(part)->excludes(dry)->excludes(slurm);
  slurm->excludes(part);
  c->add_option("--progress", o->progress, "How far it is")->type_name("auto|on|off")->capture_default_str();
}

}  // namespace farfault::cli
