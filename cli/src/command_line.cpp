#include "farfault/cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <new>
#include <ostream>
#include <sstream>

#include "completion.hpp"
#include "engine_values.hpp"
#include "farfault/cli/compare.hpp"
#include "farfault/cli/explain.hpp"
#include "farfault/cli/inspect.hpp"
#include "farfault/cli/listing.hpp"
#include "farfault/cli/progress.hpp"
#include "farfault/cli/report.hpp"
#include "farfault/cli/result_files.hpp"
#include "farfault/cli/simulation.hpp"
#include "farfault/cli/sweep.hpp"
#include "farfault/cli/watch.hpp"
#include "farfault/engine/config.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/transport.hpp"
#include "farfault/engine/units.hpp"
#include "farfault/topologies/assembly.hpp"
#include "shell_line.hpp"

namespace farfault::cli {
namespace {

// CLI11's messages have several lines and name its own classes; a user gets one sentence.
std::string sentence_of(std::string_view message) {
  auto text = one_line(message);
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z' && (text.size() < 2 || text[1] >= 'a'))
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

// "farfault 0.1.0 (commit 9f2c..., with changes)"; of a source that is no checkout, the version alone.
std::string version() {
  constexpr std::string_view kChanges = " with changes";
  auto text = std::string("farfault ") + FARFAULT_VERSION;
  auto commit = program_commit();
  if (commit == "unknown") return text;
  auto const at = commit.find(kChanges);
  if (at != commit.npos) commit.insert(at, ",");
  return text + " (commit " + commit + ")";
}

class Program {
 public:
  Program(std::ostream& out, Extensions const& extensions) : out_(out) {
    run_.extensions = extensions;
    app_.name("farfault");
    app_.set_version_flag("--version", version());
    app_.require_subcommand(0, 1);  // a word after the command is not another one: farfault params run
    app_.footer("Example:\n  farfault run study.toml --set gpu.l2_tlb.entries=1024 --output study.h5");
    add_run();
    add_sweep();
    add_params();
    add_workloads();
    add_statistics();
    add_inspect();
    add_compare();
    add_explain();
    add_report();
    add_diff();
    add_validate();
    add_watch();
    add_completion();
  }

  int call(std::vector<std::string> words, std::ostream& err) {
    auto const names = commands();
    auto const list = [&] {
      std::string text;
      for (auto const& n : names) text += (text.empty() ? "" : ", ") + n;
      return text;
    };
    if (words.empty()) throw UserError("which command? One of: " + list() + " (see farfault --help)");
    if (words[0].empty() || words[0][0] != '-') {
      if (std::find(names.begin(), names.end(), words[0]) == names.end()) {
        auto const near = nearest_name(words[0], names);
        throw UserError("'" + shown(words[0]) + "' is no command; " +
                        (near.empty() ? "the commands are " + list() : "did you mean '" + near + "'?"));
      }
    }
    run_.command_line = shell_line(words);
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    try {
      app_.parse(words);
    } catch (CLI::Success const& e) {  // --help, --version
      app_.exit(e, out_, err);
      return kDone;
    } catch (CLI::ParseError const& e) {
      auto const chosen = app_.get_subcommands();
      auto const command = chosen.empty() ? std::string() : " " + chosen[0]->get_name();
      throw UserError(sentence_of(e.what()) + " (see farfault" + command + " --help)");
    }
    err_ = &err;
    return body_ ? body_() : kDone;
  }
  // Whether the command line was understood.
  bool began() const { return err_ != nullptr; }

 private:
  std::vector<std::string> commands() const {
    std::vector<std::string> names;
    for (auto const* sub : app_.get_subcommands([](CLI::App const*) { return true; }))
      names.push_back(sub->get_name());
    return names;
  }

  CLI::App* command(std::string const& name, std::string const& text, std::string const& example,
                    std::function<int()> body) {
    auto* const sub = app_.add_subcommand(name, text);
    sub->footer("Example:\n  " + example);
    sub->callback([this, body = std::move(body)] { body_ = body; });
    return sub;
  }

  void add_run() {
    auto* const c = command(
        "run", "Simulate what a configuration describes",
        "farfault run study.toml --set gpu.l2_tlb.entries=1024 --output study.h5\n"
        "  mpirun -n 4 farfault run study.toml --threads 8\n"
        "  farfault run study.toml --checkpoint study.ckpt --resume study.ckpt   # again while it exits with "
        "3\n\n"
        "Exit codes:\n  0 done, 1 the run failed or was stopped without a checkpoint, 2 the input was "
        "wrong,\n"
        "  3 stopped by a signal, with its checkpoint saved (under MPI rank 0 returns it, the others 0)",
        [this] {
          if (!until_.empty()) run_.until = until_time();
          if (!checkpoint_every_.empty())
            run_.checkpoint_every = positive("--checkpoint-every", checkpoint_every_);
          if (run_.checkpoint.empty() && (run_.checkpoint_every || run_.checkpoint_minutes))
            throw UserError("--checkpoint-every and --checkpoint-minutes need --checkpoint FILE");
          run_.progress = progress_mode(progress_);
          run_.partitions = granularity(partitions_);
          run_.trace = trace();
          return run(run_, out_, *err_);
        });
    c->add_option("config", run_.config_path, "TOML file, or the name of a preset")
        ->required()
        ->type_name("CONFIG");
    c->add_option("--set", run_.sets, "Override one parameter; may be given again")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    c->add_option("--output", run_.output,
                  "HDF5 file to write (default: the configuration's name, .h5); an earlier one is "
                  "replaced when the run is complete, until then F.h5.partial grows")
        ->type_name("F.h5");
    c->add_option("--threads", run_.threads, "Worker threads of each rank (default: one for each core)")
        ->type_name("N")
        ->check(CLI::Range(1, 4096));
    c->add_flag("--bind", run_.bind_threads, "Keep each thread on a core of its own");
    c->add_option(
         "--checkpoint", run_.checkpoint,
         "File for checkpoints, which one run at a time may write; the one before is kept as "
         "FILE.previous. SIGTERM, SIGINT, SIGHUP and SIGUSR1 write one and end the run with exit code 3")
        ->type_name("FILE");
    c->add_option("--checkpoint-every", checkpoint_every_, "Simulated time between checkpoints")
        ->type_name("TIME");
    c->add_option("--checkpoint-minutes", run_.checkpoint_minutes, "Minutes between checkpoints")
        ->type_name("N")
        ->check(CLI::Range(0.001, 1e6));
    c->add_option("--resume", run_.resume,
                  "Continue from this checkpoint, on any number of threads and ranks; where it is missing or "
                  "damaged, from FILE.previous. Where neither is there and --checkpoint names the same file, "
                  "the run starts from the beginning")
        ->type_name("FILE");
    c->add_option("--until", until_, "Stop at this simulated time")->type_name("TIME");
    c->add_option(
         "--partitions", partitions_,
         "How finely the model is divided: one, device (each GPU, CPU and switch), split (GPUs too), or auto "
         "(split where ranks of several threads have one GPU each, else device); it never shows in a result")
        ->type_name("auto|one|device|split")
        ->capture_default_str();
    c->add_option("--profile", run_.profile, "Result of an earlier run, whose loads place devices on ranks")
        ->type_name("F.h5");
    c->add_flag(
        "--critical-path", run_.critical_path,
        "Find the critical path and the speed-up that any number of cores could reach (one thread, slower)");
    c->add_flag("!--no-merge", run_.merge_lanes,
                "Synchronize every partition, even those that share a thread");
    c->add_option(
         "--summary-json", run_.summary_json,
         "File for how the run ended, as one JSON object for scripts: end_reason (running until the end), "
         "exit_code, errors, end_time_ps, result, result_digest, checkpoint, wall_time_s, "
         "events_per_second, and the figures of the machine; -: to standard output, in place of the summary")
        ->type_name("FILE");
    c->add_option(
         "--trace", trace_,
         "Write the lives of memory accesses that are issued between two simulated times, for Perfetto: "
         "where each waited, why and how long, and statistics and kernels beside them. COMPONENTS: paths "
         "with * and ?, or of a device, whose tracks are written (default: all)")
        ->type_name("FROM,TO[,COMPONENTS]");
    c->add_option("--trace-output", trace_output_,
                  "File of the trace (default: the result's name, .pftrace); an earlier trace is replaced")
        ->type_name("FILE");
    c->add_option("--trace-sample", trace_sample_, "Trace one access in N, drawn by run.seed (default: 16)")
        ->type_name("N")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000'000}));
    c->add_option("--trace-limit", trace_limit_,
                  "Trace no more accesses, the same share of each SM (default: 50000; some 300 bytes each)")
        ->type_name("N")
        ->check(CLI::Range(1, 1'000'000'000));
    c->add_option("--progress", progress_, "How far it is; off leaves out the size of the run, too")
        ->type_name("auto|on|off")
        ->capture_default_str();
  }

  void add_sweep() {
    auto* const c =
        command("sweep", "Run all points of a study, several at a time, and make one table of them",
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
                "There are also [[sweep.list]], points one by one, and [sweep.random]: see cli/README.md.\n\n"
                "A run whose result is there, made of the same configuration and input files by this "
                "program, is not\n"
                "made again. The table is DIR/sweep.h5 and DIR/sweep.csv, the results are in DIR/runs.\n\n"
                "Exit codes:\n  0 done, 1 some runs failed (the table says why), 2 the study is wrong, 3 "
                "stopped by a "
                "signal",
                [this] {
                  sweep_.sets = run_.sets;
                  sweep_.output = run_.output;
                  sweep_.threads = run_.threads.value_or(1);
                  sweep_.progress = progress_mode(progress_);
                  sweep_.extensions = run_.extensions;
                  if (!memory_.empty()) sweep_.memory = size("--memory", memory_);
                  if (!total_memory_.empty()) sweep_.total_memory = size("--total-memory", total_memory_);
                  if (!part_.empty()) sweep_.part = sweep_part(part_);
                  return sweep(sweep_, out_, *err_);
                });
    c->add_option("study", sweep_.study, "TOML file")->required()->type_name("STUDY.toml");
    c->add_option("--set", run_.sets, "Override a parameter of all runs; may be given again")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    c->add_option("--output", run_.output, "Folder (default: as the study says, or its name)")
        ->type_name("DIR");
    c->add_option("--jobs", sweep_.jobs, "Runs at a time (default: as many as there are cores for)")
        ->type_name("N")
        ->check(CLI::Range(1, 4096));
    c->add_option("--threads", run_.threads, "Worker threads of each run (default: 1)")
        ->type_name("N")
        ->check(CLI::Range(1, 4096));
    c->add_option("--memory", memory_, "What each run may take; one that needs more fails")
        ->type_name("SIZE");
    c->add_option("--total-memory", total_memory_,
                  "What all runs at a time may take, each its --memory (default: that of this machine)")
        ->type_name("SIZE");
    auto* const dry = c->add_flag(
        "--dry-run", sweep_.dry_run,
        "Say how many runs there are, how long they take, and where; make no result. Where there is "
        "none yet, the first run is simulated for up to a minute");
    auto* const part = c->add_option("--part", part_, "Make the I-th of N shares of the runs, and no table")
                           ->type_name("I/N");
    auto* const collect =
        c->add_flag("--collect", sweep_.collect, "Make the table of what is there, and no runs");
    auto* const slurm = c->add_flag("--slurm", sweep_.slurm, "Write an array job of Slurm, and submit it");
    collect->excludes(part)->excludes(dry)->excludes(slurm);
    slurm->excludes(part);
    c->add_option("--progress", progress_, "How far it is")->type_name("auto|on|off")->capture_default_str();
  }

  void add_params() {
    auto* const c =
        command("params", "List the parameters of a configuration, with defaults and their sources",
                "farfault params gpu.l2_tlb", [this] {
                  list_parameters(parameter_sections(run_.extensions), section_, json_, out_);
                  return kDone;
                });
    c->add_option("section", section_, "Only the parameters below this table")->type_name("SECTION");
    add_json(c);
  }

  void add_workloads() {
    auto* const c = command("workloads", "List the workloads", "farfault workloads", [this] {
      list_workloads(run_.extensions.workloads(), json_, out_);
      return kDone;
    });
    add_json(c);
  }

  void add_statistics() {
    auto* const c =
        command("statistics", "List what a run of a configuration records, by its path in the result",
                "farfault statistics paper-gmmu-bypass", [this] {
                  list_statistics(run_, json_, out_);
                  return kDone;
                });
    c->add_option("config", run_.config_path, "TOML file or preset")->required()->type_name("CONFIG");
    c->add_option("--set", run_.sets, "Override a parameter")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    add_json(c);
  }

  void add_inspect() {
    auto* const c =
        command("inspect", "Say what a file is and holds: topology, graph, trace, result, checkpoint",
                "farfault inspect machine.xml --json", [this] {
                  inspect(file_,
                          dot_    ? InspectForm::dot
                          : json_ ? InspectForm::json
                                  : InspectForm::readable,
                          out_, limits(), run_.extensions.machine_formats());
                  return kDone;
                });
    c->add_option("file", file_, "The file, or the name of a built-in machine")
        ->required()
        ->type_name("FILE");
    auto* const json = c->add_flag("--json", json_, "One JSON object");
    c->add_flag("--dot", dot_, "A topology as a Graphviz graph")->excludes(json);
    c->add_option("--set", sets_, "Override one limit (farfault params limits); may be given again")
        ->type_name("limits.NAME=VALUE")
        ->allow_extra_args(false);
  }

  void add_compare() {
    auto* const c = command(
        "compare", "Say what was configured differently in several results, and what came out differently",
        "farfault compare before.h5 after.h5", [this] {
          auto const form = json_ ? CompareForm::json : csv_ ? CompareForm::csv : CompareForm::readable;
          compare_results(files_, form, all_ ? 0 : 30, out_);
          return kDone;
        });
    c->add_option("results", files_, "Results, the first of which the others are compared with")
        ->required()
        ->type_name("A.h5 B.h5");
    auto* const json = c->add_flag("--json", json_, "One JSON object");
    c->add_flag("--csv", csv_, "A table: a line for each setting and figure, a column for each result")
        ->excludes(json);
    c->add_flag("--all", all_, "Every figure that differs, those of single GPUs included");
  }

  void add_explain() {
    auto* const c =
        command("explain",
                "Say why a run took as long as it did: what bounds it, what its SMs did, where the "
                "time of an access went",
                "farfault explain study.h5", [this] {
                  explain_result(file_, json_, out_);
                  return kDone;
                });
    c->add_option("result", file_, "A result")->required()->type_name("F.h5");
    c->add_flag("--json", json_, "One JSON object");
  }

  void add_report() {
    auto* const c =
        command("report",
                "Write one page for a browser: what bounds a run, its machine, what it did over time, "
                "and several runs side by side",
                "farfault report study.h5 -o study.html", [this] {
                  report_results(files_, report_, out_);
                  return kDone;
                });
    c->add_option("results", files_, "Results; several are compared with the first one")
        ->required()
        ->type_name("A.h5 [B.h5 ...]");
    c->add_option("-o,--output", report_, "The page; an earlier report of this name is replaced")
        ->capture_default_str()
        ->type_name("FILE");
  }

  void add_diff() {
    auto* const c = command(
        "diff",
        "Say where two results differ first, and in which parameters; exit code 1 when the results differ",
        "farfault diff before.h5 after.h5",
        [this] { return diff_results(file_, other_, out_) ? kDone : kRunFailed; });
    c->add_option("a", file_, "A result")->required()->type_name("A.h5");
    c->add_option("b", other_, "Another")->required()->type_name("B.h5");
  }

  void add_validate() {
    auto* const c = command("validate", "Check that a result is whole and follows its schema",
                            "farfault validate study.h5", [this] {
                              validate_result(file_, out_);
                              return kDone;
                            });
    c->add_option("file", file_, "A result")->required()->type_name("F.h5");
  }

  void add_watch() {
    auto* const c = command("watch", "Show how far a run or a sweep is, with its latest figures",
                            "farfault watch study.h5\n"
                            "  farfault watch results/placements        # the folder of a sweep\n"
                            "  farfault watch study.h5 --once >> log",
                            [this] {
                              watch_.path = file_;
                              return watch(watch_, out_);
                            });
    c->add_option("file", file_, "The result of a run, whose FILE.partial grows; or the folder of a sweep")
        ->required()
        ->type_name("F.h5");
    c->add_flag("--once", watch_.once, "One frame, and no more");
    c->add_option("--every", watch_.every,
                  "Seconds between frames (default: 1 on a terminal, elsewhere 60). While somebody watches, "
                  "a run writes its samples out every second, else every 10 s")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.1, 86400.0));
  }

  void add_completion() {
    auto* const c = command(
        "completion", "Write the script with which a shell completes commands, options and parameters",
        "farfault completion bash > ~/.local/share/bash-completion/completions/farfault\n"
        "  farfault completion zsh > ~/.zfunc/_farfault   # in a folder of fpath\n"
        "  farfault completion fish > ~/.config/fish/completions/farfault.fish\n"
        "  eval \"$(farfault completion bash)\"             # in this shell alone; or zsh\n\n"
        "The scripts ask `farfault completion words -- WORD ...`, which says what may stand in place of the\n"
        "last word.",
        [this] {
          if (shell_ == "words")
            out_ << completions(completion_source(), words_);
          else
            out_ << shell_script(shell_);
          return kDone;
        });
    c->add_option("shell", shell_, "The shell")->required()->type_name("bash|zsh|fish");
    c->add_option("words", words_, "After `words --`: a command line")->type_name("WORD");
  }

  // The commands as they are defined above.
  CompletionSource completion_source() const {
    CompletionSource source{{}, topologies::preset_names(), {}, parameter_sections(run_.extensions)};
    for (auto const& w : run_.extensions.workloads()) source.workloads.push_back(w.name);
    for (auto const* sub : app_.get_subcommands([](CLI::App const*) { return true; })) {
      CommandInfo info{sub->get_name(), sub->get_description(), {}, {}};
      for (auto const* option : sub->get_options()) {
        auto const value = option->get_items_expected_max() == 0 ? "" : option->get_type_name();
        if (option->get_positional())
          info.operands.push_back(value);
        else if (!option->get_lnames().empty())
          info.options.push_back({"--" + option->get_lnames()[0], option->get_description(), value});
      }
      source.commands.push_back(std::move(info));
    }
    return source;
  }

  void add_json(CLI::App* c) { c->add_flag("--json", json_, "One JSON object"); }

  InputLimits limits() const {
    Config config;
    for (auto const& s : sets_) config.set(s);
    InputLimits limits;
    ParamTable table;
    limits.describe(table);
    config.bind("limits", table);
    config.reject_mistakes();
    return limits;
  }

  static Duration positive(std::string const& option, std::string const& text) {
    try {
      auto const d = parse_duration(text);
      if (d <= Duration::zero()) throw UserError(option + " '" + text + "' must be greater than zero");
      return d;
    } catch (UnitError const& e) {
      throw UserError(option + " " + e.what());
    }
  }
  static ByteSize size(std::string const& option, std::string const& text) {
    try {
      auto const b = parse_bytes(text);
      if (b.bytes == 0) throw UserError(option + " '" + text + "' must be greater than zero");
      return b;
    } catch (UnitError const& e) {
      throw UserError(option + " " + e.what());
    }
  }
  std::optional<TraceOptions> trace() const {
    if (trace_.empty()) {
      if (!trace_output_.empty() || trace_sample_ || trace_limit_)
        throw UserError("--trace-output, --trace-sample and --trace-limit need --trace FROM,TO");
      return std::nullopt;
    }
    auto options = trace_window(trace_);
    options.output = trace_output_;
    if (trace_sample_) options.one_in = *trace_sample_;
    if (trace_limit_) options.most = *trace_limit_;
    return options;
  }
  Time until_time() const { return Time{positive("--until", until_)}; }

  std::ostream& out_;
  std::ostream* err_ = nullptr;
  CLI::App app_{"Farfault simulates the virtual memory of multi-GPU machines."};
  std::function<int()> body_;

  RunOptions run_;
  SweepOptions sweep_;
  std::string memory_, total_memory_, part_;
  std::string until_;
  std::string trace_, trace_output_;
  std::optional<std::uint64_t> trace_sample_, trace_limit_;
  std::string checkpoint_every_;
  std::string progress_ = "auto";
  std::string partitions_ = "auto";
  std::string section_, file_, other_;
  WatchOptions watch_;
  std::string shell_;
  std::string report_ = "report.html";
  std::vector<std::string> sets_, files_, words_;
  bool json_ = false;
  bool csv_ = false;
  bool all_ = false;
  bool dot_ = false;
};

// One line of a length that can be read, whatever names stand in it: the middle of a longer one gives way.
std::string sentence(std::string_view text) {
  constexpr std::size_t kHead = 600;
  constexpr std::size_t kTail = 300;
  auto const line = one_line(text);
  if (line.size() <= kHead + kTail) return line;
  auto const begins = [&](std::size_t i) { return (static_cast<unsigned char>(line[i]) & 0xC0) != 0x80; };
  auto head = kHead;
  while (!begins(head)) --head;
  auto tail = line.size() - kTail;
  while (!begins(tail)) ++tail;
  return line.substr(0, head) + " ... " + line.substr(tail);
}

}  // namespace

int exit_code_of(std::function<int()> const& body, std::ostream& err) {
  try {
    return body();
  } catch (ConfigMistakes const& e) {
    std::istringstream lines(e.what());
    for (std::string line; std::getline(lines, line);) err << "farfault: " << sentence(line) << "\n";
    err.flush();
    return kInputWrong;
  } catch (UserError const& e) {
    err << "farfault: " << sentence(e.what()) << std::endl;
    return kInputWrong;
  } catch (RunError const& e) {
    err << "farfault: " << sentence(e.what()) << std::endl;
  } catch (std::bad_alloc const&) {
    err << "farfault: there is not enough memory for this" << std::endl;
  } catch (std::exception const& e) {
    err << "farfault: unexpected: " << sentence(e.what()) << std::endl;
  }
  return kRunFailed;
}

int command_line(std::vector<std::string> words, std::ostream& out, std::ostream& err,
                 Extensions const& extensions) {
  // Every rank reads the same command line; the first says what is wrong with it.
  Program program(out, extensions);
  std::ostringstream failure;
  auto const code = exit_code_of(
      [&] {
        extensions.check();
        return program.call(std::move(words), err);
      },
      failure);
  if (program.began() || launched_rank() == 0) err << failure.str() << std::flush;
  out.flush();
  if (code == kDone && !out) {  // a full disk behind a redirection
    err << "farfault: the output could not be written" << std::endl;
    return kRunFailed;
  }
  return code;
}

}  // namespace farfault::cli
