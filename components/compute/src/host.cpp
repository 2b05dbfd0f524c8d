// SPDX-License-Identifier: Apache-2.0
#include "farfault/compute/host.hpp"

#include <algorithm>

#include "farfault/compute/kernel_tables.hpp"

namespace farfault {

namespace {

// The table of kernels has the blocks of the grid instead, which a completed kernel has finished.
constexpr char const* kWithoutBlocks = "blocks";

}  // namespace

Host::Host(Slot<HostSpec> slot) : Component(std::move(slot)), of_stream_(spec().applications->streams()) {
  if (spec().asks_for_write_back) kernel_end = out<KernelEnd>("kernel_end");
  if (has(&Operation::is_of_driver)) {
    memory_order = out<MemoryOrder>("memory_order");
    order_done = in<&Host::on_order_done>("order_done");
  }
  auto const& applications = *spec().applications;
  for (std::uint32_t a = 0; a < applications.count(); ++a) {
    auto const& operations = applications[a].workload->operations();
    for (std::uint32_t i = 0; i < operations.size(); ++i)
      of_stream_[applications.first_stream(a) + operations[i].stream].push_back(i);
  }
}

HostState Host::initial() const {
  auto const& applications = *spec().applications;
  HostState s;
  s.runs.resize(applications.count());
  s.streams.resize(applications.streams());
  s.ended.resize(applications.operations());
  s.stats = ByApplication<HostStats>(applications.count());
  s.counts = KernelSums(applications.streams());
  s.unfinished = static_cast<std::uint32_t>(std::ranges::count_if(
      applications, [](Application const& a) { return !a.workload->operations().empty(); }));
  return s;
}

Host::ApplicationStats Host::application_stats() const {
  return counted_by_application<&HostState::stats>(spec().applications->names());
}

bool Host::has(bool (Operation::*is)() const) const {
  return std::ranges::any_of(*spec().applications, [&](Application const& a) {
    return std::ranges::any_of(a.workload->operations(), is);
  });
}

bool Host::has_runs_table() const {
  return std::ranges::any_of(*spec().applications, &Application::relaunch);
}

bool Host::is_running(std::uint32_t application) const {
  auto const first = spec().applications->first_stream(application);
  auto const streams = (*spec().applications)[application].workload->streams();
  return std::ranges::any_of(state().streams.begin() + first, state().streams.begin() + first + streams,
                             [](StreamRun const& run) { return run.running != 0; });
}

std::vector<TableInfo> Host::tables() const {
  TableInfo kernels{"kernels",
                    "One row per completed kernel. Statistics of SMs are summed over all SMs that ran it",
                    {{"kernel", "count", "Kernel number, from 0", ColumnType::u64},
                     {"name", "text", "Kernel name", ColumnType::text},
                     {"blocks", "count", "Thread blocks of the grid", ColumnType::u64},
                     {"launched", "ps", "Launch time at the host", ColumnType::u64},
                     {"reached_gpus", "ps", "Arrival time of the launch at the GPUs", ColumnType::u64},
                     {"left_gpus", "ps",
                      "Completion time of the kernel's last thread block on any GPU. With a single GPU, "
                      "after its L2 write-back",
                      ColumnType::u64},
                     {"finished", "ps", "Completion time at the host", ColumnType::u64}}};
  TableInfo copies{
      "copies",
      "One row per copy between the host and the GPUs, in the order of completion",
      {{"direction", "text", "to_gpus or to_host", ColumnType::text},
       {"first", "bytes", "Virtual address of the first byte", ColumnType::u64},
       {"bytes", "bytes", "Number of bytes, including bytes already in the host's memory", ColumnType::u64},
       {"started", "ps", "Start time at the host", ColumnType::u64},
       {"finished", "ps", "Completion time at the host", ColumnType::u64}}};
  auto allocations = copies;
  allocations.name = "allocations";
  allocations.text = "One row per buffer allocated or freed by a program, in the order of completion";
  allocations.columns[0] = {"operation", "text", "allocate or free", ColumnType::text};
  allocations.columns[2].text = "Number of bytes";
  auto const& applications = *spec().applications;
  add_owner_columns(kernels, applications);
  if (rows_name_streams(applications)) {
    ColumnInfo const stream{"stream", "count", "Stream of the application, from 0", ColumnType::u64};
    copies.columns.push_back(stream);
    allocations.columns.push_back(stream);
  }
  bool const names_applications = rows_name_applications(applications);
  if (names_applications) {
    kernels.columns[0].text = "Kernel number, from 0, counted over all applications in order";
    ColumnInfo const orderer{"application", "text", "Application that issued the operation",
                             ColumnType::text};
    copies.columns.push_back(orderer);
    allocations.columns.push_back(orderer);
  }
  add_sm_columns(kernels, spec().fetches, kWithoutBlocks);
  std::vector<TableInfo> tables{kernels};
  if (has(&Operation::is_copy)) tables.push_back(copies);
  if (has(&Operation::is_allocation)) tables.push_back(allocations);
  if (has_runs_table()) tables.push_back(runs_table(names_applications, spec().fetches));
  tables.push_back(outstanding_table());
  return tables;
}

void Host::take_rows(HostState& s, TableRows& rows) const {
  auto const& applications = *spec().applications;
  bool const names_streams = rows_name_streams(applications),
             names_applications = rows_name_applications(applications);
  for (auto const& r : s.records) {
    auto const& shape = applications.kernel(r.kernel).shape();
    std::vector<Cell> cells{std::uint64_t{r.kernel},
                            shape.name,
                            shape.blocks,
                            count_of(r.launched),
                            count_of(r.reached_gpus),
                            count_of(r.left_gpus),
                            count_of(r.finished)};
    add_owner_cells(cells, applications, r.kernel, r.launch);
    add_sm_cells(cells, r.counts, spec().fetches, kWithoutBlocks);
    rows.add(0, cells);
  }
  auto const allocations = has(&Operation::is_copy) ? 2U : 1U;
  auto const runs = has(&Operation::is_allocation) ? allocations + 1 : allocations;
  for (auto const& r : s.orders) {
    auto const& a = applications[r.application];
    auto const& o = a.workload->operations()[r.operation];
    std::vector<Cell> cells{std::string(word_of(o.kind)), o.first, o.bytes, count_of(r.started),
                            count_of(r.finished)};
    if (names_streams) cells.emplace_back(std::uint64_t{o.stream});
    if (names_applications) cells.emplace_back(a.name);
    rows.add(o.is_copy() ? 1 : allocations, cells);
  }
  for (auto const& r : s.ended_runs)
    rows.add(runs, cells_of(r, names_applications ? applications[r.application].name : std::string(),
                            spec().fetches));
  s.records.clear();
  s.orders.clear();
  s.ended_runs.clear();
}

Operation const& Host::operation(std::uint32_t stream, HostState const& s) const {
  auto const& applications = *spec().applications;
  auto const& a = applications[applications.application_of_stream(stream)];
  return a.workload->operations()[of_stream_[stream][s.streams[stream].next]];
}

std::string Host::waiting_for() const {
  auto const& s = state();
  std::string text;
  for (std::uint32_t stream = 0; stream < s.streams.size(); ++stream)
    if (!at_end(stream, s) && (s.unfinished != 0 || s.streams[stream].running != 0))
      text += (text.empty() ? "" : "; ") + waiting_for(stream);
  return text;
}

std::string Host::waiting_for(std::uint32_t stream) const {
  auto const& applications = *spec().applications;
  auto const application = applications.application_of_stream(stream);
  auto const& run = state().streams[stream];
  auto const& o = operation(stream, state());
  std::string text;
  if (applications.count() > 1) text += applications[application].name + ": ";
  if (applications[application].workload->streams() > 1)
    text += "stream " + std::to_string(stream - applications.first_stream(application)) + ", ";
  if (o.kind == OperationKind::wait) return text + "the end of operation " + std::to_string(o.number);
  if (o.is_copy()) return text + "a copy of " + to_text(ByteSize{o.bytes});
  if (o.is_allocation())
    return text + "the driver to " + std::string(word_of(o.kind)) + ' ' + to_text(ByteSize{o.bytes});
  auto const gpus =
      run.writing_back != 0 ? spec().gpus : applications.gpus_of(application, spec().gpus).size();
  return text + "kernel " + std::to_string(applications.first_kernel(application) + o.number) +
         (run.writing_back != 0 ? ", written back by " : ", completed by ") + std::to_string(run.reported) +
         " of " + std::to_string(gpus) + " GPUs";
}

void Host::on_begin(StartApplication const& m, Cx& cx) const {
  begin_run(m.application, cx);
  continue_streams(m.application, cx);
}

void Host::begin_run(std::uint32_t application, Cx& cx) const {
  auto& s = cx.state();
  auto const& applications = *spec().applications;
  auto const& workload = *applications[application].workload;
  auto const first = applications.first_stream(application);
  for (auto stream = first; stream < first + workload.streams(); ++stream) s.streams[stream].next = 0;
  auto const ended = s.ended.begin() + applications.first_operation(application);
  std::fill_n(ended, workload.operations().size(), std::uint8_t{0});
  auto& run = s.runs[application];
  run.current = {.application = application, .run = run.times, .started = cx.now()};
}

bool Host::end_run(std::uint32_t application, Cx& cx) const {
  auto const& a = (*spec().applications)[application];
  if (a.workload->operations().empty()) return false;
  auto& s = cx.state();
  auto& run = s.runs[application];
  run.current.finished = cx.now();
  if (has_runs_table()) s.ended_runs.push_back(run.current);
  if (++run.times == a.repeats) --s.unfinished;
  if (run.times < a.repeats) return true;
  // Launches and runs have the same limit on their numbers.
  auto const kernels = std::uint64_t{a.workload->kernel_count()};
  auto const room = Applications::kMaxLaunches - std::max(run.launches, run.times);
  return a.relaunch && s.unfinished != 0 && std::max(kernels, std::uint64_t{1}) < room;
}

void Host::continue_streams(std::uint32_t application, Cx& cx) const {
  auto& s = cx.state();
  auto const first = spec().applications->first_stream(application);
  auto const last = first + (*spec().applications)[application].workload->streams();
  for (bool further = true; further;) {
    further = false;
    bool all_ended = true;
    for (auto stream = first; stream < last; ++stream) {
      while (begin_next(stream, cx)) further = true;
      all_ended = all_ended && at_end(stream, s);
    }
    if (!all_ended) continue;
    if (!end_run(application, cx)) return;
    begin_run(application, cx);
    further = true;
  }
}

bool Host::begin_next(std::uint32_t stream, Cx& cx) const {
  auto& s = cx.state();
  auto& run = s.streams[stream];
  if (run.running != 0 || at_end(stream, s) || s.unfinished == 0) return false;
  auto const& applications = *spec().applications;
  auto const application = applications.application_of_stream(stream);
  auto const& o = operation(stream, s);
  if (o.kind == OperationKind::wait) {
    if (s.ended[applications.first_operation(application) + o.number] == 0) return false;
    end_operation(stream, cx);
    return true;
  }
  run.running = 1;
  run.began = cx.now();
  auto& first = s.runs[application].first_launch;
  first = std::min(first, cx.now());
  if (o.kind == OperationKind::kernel)
    launch_kernel(stream, applications.first_kernel(application) + o.number, cx);
  else
    cx.send(memory_order, MemoryOrder{.first = first_address_of(applications[application].space) + o.first,
                                      .bytes = o.bytes,
                                      .stream = stream,
                                      .kind = o.kind});
  return true;
}

void Host::launch_kernel(std::uint32_t stream, std::uint32_t kernel, Cx& cx) const {
  auto& s = cx.state();
  auto& run = s.streams[stream];
  auto const application = spec().applications->application_of_stream(stream);
  run.reported = 0;
  run.writing_back = 0;
  run.launch = s.runs[application].launches++;
  LaunchKernel const order{kernel, run.launch};
  auto const& gpus = (*spec().applications)[application].gpus;
  if (gpus.empty())
    for (std::uint32_t g = 0; g < spec().gpus; ++g) cx.send(launch, g, order);
  for (auto const g : gpus) cx.send(launch, g, order);
}

void Host::on_counts(KernelCounts const& m, Cx& cx) const {
  cx.state().counts.add(spec().applications->stream_of(m.kernel), m);
}

void Host::on_done(KernelDone const& m, Cx& cx) const {
  auto& s = cx.state();
  auto const application = spec().applications->application_of(m.kernel);
  auto const stream = spec().applications->stream_of(m.kernel);
  auto& run = s.streams[stream];
  s.counts.expect(stream, m.reports);
  auto const& gpus = (*spec().applications)[application].gpus;
  bool const all = gpus.empty() || run.writing_back != 0;
  if (++run.reported < (all ? spec().gpus : gpus.size())) return;
  if (run.writing_back == 0) run.ran = cx.now() - spec().params.done_latency;
  if (spec().asks_for_write_back && run.writing_back == 0) {
    run.reported = 0;
    run.writing_back = 1;
    for (std::uint32_t g = 0; g < spec().gpus; ++g) cx.send(kernel_end, g, KernelEnd{m.kernel});
    return;
  }
  s.records.push_back({.kernel = m.kernel,
                       .launch = run.launch,
                       .launched = run.began,
                       .reached_gpus = run.began + spec().params.launch_latency,
                       .left_gpus = run.ran,
                       .finished = cx.now(),
                       .counts = s.counts.take(stream)});
  ++s.stats[application].kernels;
  auto& current = s.runs[application].current;
  ++current.kernels;
  add_counts(current.counts, s.records.back().counts);
  end_operation(stream, cx);
  continue_streams(application, cx);
}

void Host::on_order_done(MemoryOrderDone const& m, Cx& cx) const {
  auto& s = cx.state();
  auto const& run = s.streams[m.stream];
  auto const application = spec().applications->application_of_stream(m.stream);
  s.orders.push_back({of_stream_[m.stream][run.next], application, run.began, cx.now()});
  auto& stats = s.stats[application];
  auto const& o = operation(m.stream, s);
  ++(o.is_copy() ? stats.copies : o.kind == OperationKind::allocate ? stats.allocations : stats.frees);
  end_operation(m.stream, cx);
  continue_streams(application, cx);
}

void Host::end_operation(std::uint32_t stream, Cx& cx) const {
  auto& s = cx.state();
  auto& run = s.streams[stream];
  auto const application = spec().applications->application_of_stream(stream);
  s.ended[spec().applications->first_operation(application) + of_stream_[stream][run.next]] = 1;
  s.runs[application].last_end = cx.now();
  run.running = 0;
  ++run.next;
}

template class Component<HostSpec, HostState>;

}  // namespace farfault
