// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "command_set.hpp"
#include "farfault/cli/progress.hpp"
#include "farfault/cli/simulation.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/units.hpp"
#include "process/huge_pages.hpp"

namespace farfault::cli {
namespace {

struct RunArguments {
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

std::optional<TraceOptions> trace_of(RunArguments const& words) {
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
  return {[](std::string& name) { return std::string(name.empty() ? "is empty; expected a file name" : ""); },
          ""};
}

}  // namespace

void add_run(CommandSet& set) {
  auto const o = std::make_shared<RunArguments>();
  auto* const c =
      set.add("run", "Simulate a configuration",
              "farfault run study.toml --set gpu.l2_tlb.entries=1024 --output study.h5\n"
              "  mpirun -n 4 farfault run study.toml --threads 8\n"
              "  farfault run study.toml --checkpoint study.ckpt --resume study.ckpt   # repeat while the "
              "exit code is 3\n"
              "\n"
              "Exit codes:\n"
              "  0 done, 1 failed or stopped without a checkpoint, 2 invalid input,\n"
              "  3 stopped by a signal, checkpoint saved (under MPI rank 0 returns 3, the others 0)",
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
  c->add_option("config", o->run.config_path, "TOML file, or name of a preset")
      ->required()
      ->type_name("CONFIG");
  c->add_option("--set", o->run.sets, "Override a parameter; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  c->add_option("--output", o->run.output,
                "HDF5 file to write (default: name of the configuration, .h5). A run writes F.h5.partial and "
                "replaces F.h5 when it completes")
      ->type_name("F.h5")
      ->check(names_a_file());
  c->add_option("--threads", o->run.threads, "Worker threads of each rank (default: one per core)")
      ->type_name("N")
      ->check(CLI::Range(1, 4096));
  c->add_flag("--bind", o->run.bind_threads, "Pin each thread to a core");
  c->add_option(
       "--checkpoint", o->run.checkpoint,
       "File for checkpoints, used by one run at a time; the previous checkpoint is kept as FILE.previous. "
       "SIGTERM, SIGINT, SIGHUP and SIGUSR1 write a checkpoint and end the run with exit code 3")
      ->type_name("FILE")
      ->check(names_a_file());
  c->add_option("--checkpoint-every", o->checkpoint_every, "Simulated time between checkpoints")
      ->type_name("TIME");
  c->add_option("--checkpoint-minutes", o->run.checkpoint_minutes, "Minutes between checkpoints")
      ->type_name("N")
      ->check(CLI::Range(0.001, 1e6));
  c->add_option(
       "--resume", o->run.resume,
       "Continue from this checkpoint, with any number of threads and ranks; if it is missing or "
       "damaged, from FILE.previous. The unfinished result of the run, F.h5.partial, must exist at "
       "--output: a checkpoint has none of its data. If both checkpoints are missing and --checkpoint "
       "names the same file, the run starts from the beginning")
      ->type_name("FILE")
      ->check(names_a_file());
  c->add_option("--until", o->until, "Stop at this simulated time")->type_name("TIME");
  c->add_option(
       "--partitions", o->partitions,
       "Partitions of the model: one, device (each GPU, CPU and switch), split (several per GPU), or auto "
       "(split if ranks of several threads have one GPU each, else device). Results do not depend on it")
      ->type_name("auto|one|device|split")
      ->capture_default_str();
  c->add_option("--profile", o->run.profile,
                "Result of an earlier run; its loads determine the placement of devices on ranks")
      ->type_name("F.h5")
      ->check(names_a_file());
  c->add_flag(
      "--critical-path", o->run.critical_path,
      "Find the critical path and the speedup limit for several numbers of cores (one thread, slower)");
  c->add_flag("!--no-merge", o->run.merge_lanes,
              "Synchronize all partitions, including partitions that share a thread");
  c->add_option(
       "--summary-json", o->run.summary_json,
       "File for the outcome of the run, as one JSON object: end_reason (running until the end), exit_code, "
       "errors, end_time_ps, result, result_digest, checkpoint, wall_time_s, events_per_second, and the "
       "figures of the machine. -: standard output, instead of the summary")
      ->type_name("FILE")
      ->check(names_a_file());
  c->add_option("--trace", o->trace,
                "Write a Perfetto trace of memory accesses issued between two simulated times: the stages of "
                "each access, with statistics and kernels. COMPONENTS: components or devices whose tracks "
                "are written, as paths with * and ? (default: all)")
      ->type_name("FROM,TO[,COMPONENTS]");
  c->add_option("--trace-output", o->trace_output,
                "Trace file (default: name of the result, .pftrace); an earlier trace is replaced")
      ->type_name("FILE")
      ->check(names_a_file());
  c->add_option("--trace-sample", o->trace_sample,
                "Trace one access in N, selected by run.seed (default: 16)")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000'000}));
  c->add_option("--trace-limit", o->trace_limit,
                "Maximum traced accesses, divided equally among SMs (default: 50000; about 300 bytes each)")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000'000'000));
  c->add_option("--progress", o->progress, "Progress reports; off also omits the size of the run")
      ->type_name("auto|on|off")
      ->capture_default_str();
}

}  // namespace farfault::cli
