// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "command_set.hpp"
#include "farfault/cli/command_line.hpp"
#include "farfault/cli/progress.hpp"
#include "farfault/cli/simulation.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/units.hpp"
#include "huge_pages.hpp"

namespace farfault::cli {
namespace {

struct RunWords {
  RunOptions run;
  std::string until, checkpoint_every;
  std::string progress = "auto";
  std::string partitions = "auto";
  std::optional<std::string> trace;
  std::string trace_output;
  std::optional<std::uint64_t> trace_sample, trace_limit;
};

Duration positive(std::string const& option, std::string const& text) {
  try {
    auto const d = parse_duration(text);
    if (d <= Duration::zero()) throw UserError(option + " '" + text + "' must be greater than zero");
    return d;
  } catch (UnitError const& e) {
    throw UserError(option + " " + e.what());
  }
}

std::optional<TraceOptions> trace_of(RunWords const& words) {
  if (!words.trace) {
    if (!words.trace_output.empty() || words.trace_sample || words.trace_limit)
      throw UserError("--trace-output, --trace-sample and --trace-limit need --trace FROM,TO");
    return std::nullopt;
  }
  auto options = trace_window(*words.trace);
  options.output = words.trace_output;
  if (words.trace_sample) options.one_in = *words.trace_sample;
  if (words.trace_limit) options.most = *words.trace_limit;
  return options;
}

CLI::Validator names_a_file() {
  return {[](std::string& name) { return std::string(name.empty() ? "names no file" : ""); }, ""};
}

}  // namespace

void add_run(CommandSet& set) {
  auto const o = std::make_shared<RunWords>();
  auto* const c = set.add(
      "run", "Simulate what a configuration describes",
      "farfault run study.toml --set gpu.l2_tlb.entries=1024 --output study.h5\n"
      "  mpirun -n 4 farfault run study.toml --threads 8\n"
      "  farfault run study.toml --checkpoint study.ckpt --resume study.ckpt   # again while it exits with "
      "3\n\n"
      "Exit codes:\n  0 done, 1 the run failed or was stopped without a checkpoint, 2 the input was "
      "wrong,\n"
      "  3 stopped by a signal, with its checkpoint saved (under MPI rank 0 returns it, the others 0)",
      [&set, o] {
        set.read_words([&] {
          if (!o->until.empty()) o->run.until = Time{positive("--until", o->until)};
          if (!o->checkpoint_every.empty())
            o->run.checkpoint_every = positive("--checkpoint-every", o->checkpoint_every);
          if (o->run.checkpoint.empty() && (o->run.checkpoint_every || o->run.checkpoint_minutes))
            throw UserError("--checkpoint-every and --checkpoint-minutes need --checkpoint FILE");
          o->run.extensions = set.extensions();
          o->run.command_line = set.words();
          o->run.progress = progress_mode(o->progress);
          o->run.partitions = granularity(o->partitions);
          o->run.trace = trace_of(*o);
        });
        ask_for_huge_pages();
        return run(o->run, set.out(), set.err());
      });
  c->add_option("config", o->run.config_path, "TOML file, or the name of a preset")
      ->required()
      ->type_name("CONFIG");
  c->add_option("--set", o->run.sets, "Override one parameter; may be given again")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  c->add_option("--output", o->run.output,
                "HDF5 file to write (default: the configuration's name, .h5); an earlier one is "
                "replaced when the run is complete, until then F.h5.partial grows")
      ->type_name("F.h5")
      ->check(names_a_file());
  c->add_option("--threads", o->run.threads, "Worker threads of each rank (default: one for each core)")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  c->add_flag("--bind", o->run.bind_threads, "Keep each thread on a core of its own");
  c->add_option(
       "--checkpoint", o->run.checkpoint,
       "File for checkpoints, which one run at a time may write; the one before is kept as "
       "FILE.previous. SIGTERM, SIGINT, SIGHUP and SIGUSR1 write one and end the run with exit code 3")
      ->type_name("FILE")
      ->check(names_a_file());
  c->add_option("--checkpoint-every", o->checkpoint_every, "Simulated time between checkpoints")
      ->type_name("TIME");
  c->add_option("--checkpoint-minutes", o->run.checkpoint_minutes, "Minutes between checkpoints")
      ->type_name("N")
      ->check(CLI::Range(0.001, 1e6));
  c->add_option("--resume", o->run.resume,
                "Continue from this checkpoint, on any number of threads and ranks; where it is missing or "
                "damaged, from FILE.previous. Where neither is there and --checkpoint names the same file, "
                "the run starts from the beginning")
      ->type_name("FILE")
      ->check(names_a_file());
  c->add_option("--until", o->until, "Stop at this simulated time")->type_name("TIME");
  c->add_option(
       "--partitions", o->partitions,
       "How finely the model is divided: one, device (each GPU, CPU and switch), split (GPUs too), or auto "
       "(split where ranks of several threads have one GPU each, else device); it never shows in a result")
      ->type_name("auto|one|device|split")
      ->capture_default_str();
  c->add_option("--profile", o->run.profile, "Result of an earlier run, whose loads place devices on ranks")
      ->type_name("F.h5")
      ->check(names_a_file());
  c->add_flag(
      "--critical-path", o->run.critical_path,
      "Find the critical path and the speed-up that any number of cores could reach (one thread, slower)");
  c->add_flag("!--no-merge", o->run.merge_lanes,
              "Synchronize every partition, even those that share a thread");
  c->add_option(
       "--summary-json", o->run.summary_json,
       "File for how the run ended, as one JSON object for scripts: end_reason (running until the end), "
       "exit_code, errors, end_time_ps, result, result_digest, checkpoint, wall_time_s, "
       "events_per_second, and the figures of the machine; -: to standard output, in place of the summary")
      ->type_name("FILE")
      ->check(names_a_file());
  c->add_option(
       "--trace", o->trace,
       "Write the lives of memory accesses that are issued between two simulated times, for Perfetto: "
       "where each waited, why and how long, and statistics and kernels beside them. COMPONENTS: paths "
       "with * and ?, or of a device, whose tracks are written (default: all)")
      ->type_name("FROM,TO[,COMPONENTS]");
  c->add_option("--trace-output", o->trace_output,
                "File of the trace (default: the result's name, .pftrace); an earlier trace is replaced")
      ->type_name("FILE")
      ->check(names_a_file());
  c->add_option("--trace-sample", o->trace_sample, "Trace one access in N, drawn by run.seed (default: 16)")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000'000}));
  c->add_option("--trace-limit", o->trace_limit,
                "Trace no more accesses, the same share of each SM (default: 50000; some 300 bytes each)")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000'000));
  c->add_option("--progress", o->progress, "How far it is; off leaves out the size of the run, too")
      ->type_name("auto|on|off")
      ->capture_default_str();
}

}  // namespace farfault::cli
