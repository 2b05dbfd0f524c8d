#include "farfault/cli/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>

#include "farfault/engine/error.hpp"
#include "farfault/results/writer.hpp"
#include "farfault/topologies/load.hpp"
#include "farfault/workloads/registry.hpp"
#include "sampler.hpp"
#include "summary.hpp"

namespace farfault::cli {

namespace {

std::atomic<Engine*> running{nullptr};  // for the signal handler alone

extern "C" void stop_running(int) {
  if (auto* engine = running.load()) engine->request_stop();
}

// SIGTERM, SIGINT and SIGUSR1 end the run in order while this lives; a write past a size limit is an error,
// not a signal.
class Signals {
 public:
  explicit Signals(Engine& engine) {
    running.store(&engine);
    for (auto const s : {SIGTERM, SIGINT, SIGUSR1}) std::signal(s, stop_running);
    std::signal(SIGXFSZ, SIG_IGN);
  }
  ~Signals() {
    for (auto const s : {SIGTERM, SIGINT, SIGUSR1}) std::signal(s, SIG_DFL);
    running.store(nullptr);
  }
  Signals(Signals const&) = delete;
  Signals& operator=(Signals const&) = delete;
};

// Everything that a run is made of, in the order in which it is built.
struct Model {
  explicit Model(RunOptions const& options) : config(topologies::find_preset) {
    auto const& path = options.config_path;
    auto const preset = topologies::find_preset(path);
    if (preset && !std::filesystem::exists(path))
      config.read_text(*preset, path);
    else
      config.read_file(path);
    for (auto const& s : options.sets) config.set(s);
    bind("run", run);
    machine_config.bind(config);
    bind("workload", workload_choice);
    builder = workloads::make(workload_choice.name);
    bind("workload." + workload_choice.name, *builder);
    config.reject_unknown();
    machine_config.check();
    machine = topologies::load_machine(topology_path(), machine_config.links);
    workloads::BuildContext context;
    context.warp_width = machine_config.gpu.warp_width;
    context.page_bytes = machine_config.memory.page_size.bytes;
    context.base_folder = folder_of("workload." + workload_choice.name + ".graph");
    context.seed = run.seed;
    workload.emplace(builder->build(context));
    assembly.emplace(machine, machine_config, *workload);
  }

  template <class Spec>
  void bind(std::string const& section, Spec& spec) {
    ParamTable table;
    spec.describe(table);
    config.bind(section, table);
  }
  // A relative file name in a configuration is relative to that file.
  std::string folder_of(std::string const& key) const {
    auto const where = config.where(key);
    auto const colon = where.rfind(':');
    if (where.empty() || colon == std::string::npos || where.starts_with("--set")) return {};
    return std::filesystem::path(where.substr(0, colon)).parent_path().string();
  }
  std::string topology_path() const {
    auto const& name = machine_config.machine.topology;
    auto const names = topologies::builtin_machines();
    if (std::find(names.begin(), names.end(), name) != names.end()) return name;
    auto const relative = std::filesystem::path(folder_of("machine.topology")) / name;
    return std::filesystem::exists(relative) ? relative.string() : name;
  }

  Config config;
  RunParams run;
  topologies::MachineConfig machine_config;
  WorkloadChoice workload_choice;
  std::unique_ptr<workloads::WorkloadBuilder> builder;
  topologies::Machine machine;
  std::optional<Workload> workload;
  std::optional<topologies::Assembly> assembly;
};

results::RunHeader header_of(Model const& model, RunOptions const& options, Sampler const& sampler) {
  results::RunHeader header;
  header.resolved_config = model.config.resolved();
  header.command_line = options.command_line;
  header.seed = model.run.seed;
  for (auto const& f : model.workload->inputs())
    header.inputs.push_back(
        {std::filesystem::path(f.path).filename().string(), f.bytes, fmt::format("{:016x}", f.hash)});
  for (auto const& n : model.machine.nodes)
    header.nodes.push_back({n.name, std::string(topologies::name_of(n.kind))});
  for (auto const& l : model.machine.links)
    header.links.push_back({l.a, l.b, std::string(topologies::name_of(l.kind)),
                            static_cast<std::uint64_t>(picoseconds(l.latency)), l.forward.bytes_per_second,
                            l.backward.bytes_per_second});
  header.series = sampler.groups();
  header.tables.push_back(
      {"kernels",
       "one row for each kernel that ran",
       {{"kernel", "count", "number of the kernel, from 0", ColumnType::u64},
        {"name", "text", "name of the kernel", ColumnType::text},
        {"blocks", "count", "thread blocks of the grid", ColumnType::u64},
        {"launched", "ps", "simulated time of the launch by the host", ColumnType::u64},
        {"finished", "ps", "simulated time at which the host knew it done", ColumnType::u64}}});
  return header;
}

std::uint32_t default_threads() {
  auto const cores = std::max(1U, std::thread::hardware_concurrency());
  auto const* const local = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  auto const ranks = local == nullptr ? 1 : std::max(1, std::atoi(local));
  return std::max(1U, cores / static_cast<std::uint32_t>(ranks));
}

std::string output_path(RunOptions const& options) {
  if (!options.output.empty()) return options.output;
  return std::filesystem::path(options.config_path).stem().string() + ".h5";
}

// A step that may fail on some ranks only: all ranks go on, or none. The first rank that failed rethrows, the
// others return false.
bool together(Transport& transport, std::function<void()> const& step) {
  std::exception_ptr failure;
  try {
    step();
  } catch (...) {
    failure = std::current_exception();
  }
  auto const mine = failure ? transport.ranks() - transport.rank() : 0;
  auto const first = transport.max(mine);
  if (first == 0) return true;
  if (failure && first == mine) std::rethrow_exception(failure);
  return false;
}

class Run {
 public:
  Run(RunOptions const& options, Transport& transport, Model& model)
      : options_(options),
        transport_(transport),
        model_(model),
        engine_(model.assembly->system(), model.assembly->placement(options.partitions, transport.ranks()),
                {.threads = options.threads.value_or(default_threads()), .merge_lanes = options.merge_lanes},
                transport),
        sampler_(model.assembly->system(), engine_, transport),
        progress_(progress_on_stderr(transport.rank() == 0 ? options.progress : ProgressMode::off)) {
    for (std::size_t k = 0; k < model.workload->kernel_count(); ++k)
      blocks_ += model.workload->kernel(k).shape().blocks;
  }

  int execute() {
    if (!together(transport_, [&] {
          if (transport_.rank() == 0)
            writer_.emplace(output_path(options_), header_of(model_, options_, sampler_));
        }))
      return 2;
    Signals const signals(engine_);
    auto const began = std::chrono::steady_clock::now();
    std::string reason;
    if (!simulate(reason)) return 1;
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    progress_.finish();
    return conclude(reason);
  }

 private:
  bool simulate(std::string& reason) {
    auto const end = options_.until.value_or(Time::max());
    auto const interval = model_.run.sample_interval;
    auto const began = std::chrono::steady_clock::now();
    auto flushed = began;
    for (Time next{interval};; next += interval) {
      auto const state = engine_.run_until(std::min(next, end));
      auto const last = state == RunState::reached && next < end;
      end_ = last ? next : state == RunState::reached ? end : engine_.last_event();
      sampler_.sample();
      if (!together(transport_, [&] {
            if (!writer_) return;
            writer_->append_sample(end_, sampler_.values());
            auto const now = std::chrono::steady_clock::now();
            if (now - flushed > std::chrono::seconds(10)) {
              writer_->flush();
              flushed = now;
            }
          }))
        return false;
      if (state == RunState::drained) reason = "completed";
      if (state == RunState::stopped) reason = "stopped";
      if (state == RunState::reached && next >= end) reason = "time_limit";
      if (!reason.empty()) return true;
      auto const events = engine_.profile().events;
      progress_.report({end_, events,
                        blocks_ == 0 ? 0.0
                                     : static_cast<double>(sampler_.total("sm", "blocks")) /
                                           static_cast<double>(blocks_)});
    }
  }

  // Every component's own account of what it waits for, from all ranks.
  std::string waiting() {
    std::string mine;
    auto& system = model_.assembly->system();
    for (ComponentId id = 0; id < system.component_count(); ++id) {
      if (!engine_.is_local(id)) continue;
      auto const text = system.component(id).waiting_for();
      if (!text.empty()) mine += "  " + system.component(id).path() + ": " + text + "\n";
    }
    std::string all;
    for (auto const& part : transport_.gather(std::as_bytes(std::span(mine))))
      all.append(reinterpret_cast<char const*>(part.data()), part.size());
    return all;
  }

  std::vector<KernelRecord> kernel_records() {
    auto const& host = model_.assembly->host();
    std::vector<KernelRecord> records;
    if (host.has_state()) records = host.state().records;
    std::vector<KernelRecord> all;
    for (auto const& part : transport_.gather(std::as_bytes(std::span(records)))) {
      auto const n = all.size();
      all.resize(n + part.size() / sizeof(KernelRecord));
      if (!part.empty()) std::memcpy(static_cast<void*>(all.data() + n), part.data(), part.size());
    }
    return all;
  }

  int conclude(std::string reason) {
    auto const stuck = reason == "completed" ? waiting() : std::string{};
    if (reason == "completed" && transport_.max(stuck.empty() ? 0 : 1) != 0) reason = "deadlock";
    auto const records = kernel_records();
    auto const profile = engine_.profile();
    auto const events = transport_.sum(profile.events);
    std::string digest;
    if (!together(transport_, [&] {
          if (writer_) digest = write_end(reason, records, profile, events);
        }))
      return 1;
    if (transport_.rank() == 0) speak(reason, stuck, digest, records, events);
    return reason == "deadlock" || reason == "stopped" ? 1 : 0;
  }

  RunFacts facts(std::vector<KernelRecord> const& records) const {
    return {*model_.workload, records, model_.assembly->gpus(), model_.machine_config.gpu.clock.clock(),
            end_};
  }

  std::string write_end(std::string const& reason, std::vector<KernelRecord> const& records,
                        EngineProfile const& profile, std::uint64_t events) {
    auto const done = sampler_.total("host", "kernels");
    for (std::size_t k = 0; k < records.size() && k < done; ++k) {
      auto const& shape = model_.workload->kernel(k).shape();
      std::vector<results::Cell> const row{std::uint64_t{k}, shape.name, shape.blocks,
                                           static_cast<std::uint64_t>(picoseconds(records[k].launched)),
                                           static_cast<std::uint64_t>(picoseconds(records[k].finished))};
      writer_->append_row(0, row);
    }
    writer_->summary(summary_rows(sampler_, facts(records)));
    writer_->engine(
        {{"seconds", "s", "wall-clock time of the simulation", seconds_},
         {"events", "count", "events handled, all ranks", events},
         {"events_per_second", "1/s", "events handled a second", static_cast<double>(events) / seconds_},
         {"rounds", "count", "synchronizations of rank 0", profile.rounds},
         {"exchanges", "count", "exchanges between ranks", profile.exchanges},
         {"bytes_sent", "bytes", "sent by rank 0 to other ranks", profile.bytes_sent},
         {"blocked", "s", "time that rank 0 waited for other ranks", profile.blocked_seconds},
         {"lane_events", "count", "events of each lane of rank 0", profile.lane_events}});
    return writer_->finish(reason);
  }

  void speak(std::string const& reason, std::string const& stuck, std::string const& digest,
             std::vector<KernelRecord> const& records, std::uint64_t events) {
    auto const transactions = sampler_.total("sm", "transactions");
    fmt::print("{}", summary_text(sampler_, facts(records)));
    fmt::print("  {:<22}{}, digest {}\n", "ended", reason, digest);
    fmt::print("  {:<22}{:.2f} s, {} events/s, {} memory transactions/s\n", "took", seconds_,
               for_people(static_cast<double>(events) / seconds_),
               for_people(static_cast<double>(transactions) / seconds_));
    fmt::print("  {:<22}{}\n", "result", output_path(options_));
    std::fflush(stdout);
    if (!stuck.empty())
      fmt::print(stderr, "farfault: deadlock at {}: nothing can move and these wait:\n{}",
                 to_text(end_.time_since_epoch()), stuck);
    if (reason == "stopped")
      fmt::print(stderr, "farfault: stopped by a signal at {}\n", to_text(end_.time_since_epoch()));
  }

  RunOptions const& options_;
  Transport& transport_;
  Model& model_;
  Engine engine_;
  Sampler sampler_;
  Progress progress_;
  std::optional<results::ResultWriter> writer_;
  std::uint64_t blocks_ = 0;
  Time end_{};
  double seconds_ = 0;
};

}  // namespace

void RunParams::describe(ParamTable& t) {
  t.count("seed", seed, {0, ~std::uint64_t{0} >> 1}, "seed of generated data", "assumed");
  t.duration("sample_interval", sample_interval, {1ns, 3600s},
             "simulated time between two samples of the statistics", "assumed");
}

void WorkloadChoice::describe(ParamTable& t) {
  t.text("name", name, "which workload runs; its parameters are in the table of its name below this one",
         "assumed");
}

topologies::Granularity granularity(std::string_view word) {
  if (word == "one") return topologies::Granularity::one;
  if (word == "device") return topologies::Granularity::device;
  if (word == "split") return topologies::Granularity::split_gpu;
  throw UserError("--partitions '" + std::string(word) + "' is not one of: one, device, split");
}

int run(RunOptions const& options) {
  auto const transport = make_transport();
  std::optional<Model> model;
  std::optional<Run> run;
  if (!together(*transport, [&] {
        model.emplace(options);
        run.emplace(options, *transport, *model);
      }))
    return 2;
  return run->execute();
}

}  // namespace farfault::cli
