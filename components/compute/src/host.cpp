#include "farfault/compute/host.hpp"

#include <algorithm>
#include <array>

namespace farfault {

void HostParams::describe(ParamTable& t) {
  t.duration(
      "launch_latency", launch_latency, {1ns, 1s}, "from the host's launch to a GPU's first block",
      "MGPUSim 4.2, MI300A: 5400 cycles for the first kernel, taken as ns; the 1800 of later ones are not "
      "told apart");
  t.duration(
      "done_latency", done_latency, {1ns, 1s},
      "from a GPU's last block to the host; where several GPUs write back their L2 caches then, also from "
      "the host's word to do so, and back",
      "assumed");
  block_order.describe(t, "block_order", "how a kernel's blocks are distributed over the GPUs",
                       "MGPUSim, driver: round_robin until March 2021, then runs of ceil(blocks / GPUs); "
                       "contiguous_per_sm in 4.2");
}

Host::Host(Slot<HostSpec> slot) : Component(std::move(slot)) {
  if (spec().asks_for_write_back) kernel_end = out<KernelEnd>("kernel_end");
}

HostState Host::initial() const {
  auto const& applications = *spec().applications;
  HostState s;
  s.runs.resize(applications.count());
  s.stats = ByApplication<HostStats>(applications.count());
  return s;
}

std::span<Stat<HostStats> const> HostStats::list() {
  static constexpr auto all = std::to_array<Stat<HostStats>>({
      {"kernels", "count", "kernels finished", StatKind::counter,
       [](HostStats const& s) { return s.kernels; }},
  });
  return all;
}

Host::ApplicationStats Host::application_stats() const {
  return counted_by_application<&HostState::stats>(spec().applications->names());
}

bool Host::rows_name_applications() const {
  auto const& applications = *spec().applications;
  return applications.count() > 1 || applications[0].repeats > 1;
}

std::vector<TableInfo> Host::tables() const {
  TableInfo kernels{
      "kernels",
      "one row for each kernel that ran",
      {{"kernel", "count", "number of the kernel, from 0", ColumnType::u64},
       {"name", "text", "name of the kernel", ColumnType::text},
       {"blocks", "count", "thread blocks of the grid", ColumnType::u64},
       {"launched", "ps", "simulated time of the launch by the host", ColumnType::u64},
       {"finished", "ps", "simulated time at which the host learned that it is done", ColumnType::u64}}};
  if (rows_name_applications()) {
    kernels.columns[0].text = "number of the kernel, from 0, over all applications in turn";
    kernels.columns.push_back({"application", "text", "application that launched it", ColumnType::text});
    kernels.columns.push_back(
        {"launch", "count", "kernels that the application had launched before", ColumnType::u64});
  }
  return {kernels};
}

void Host::take_rows(HostState& s, TableRows& rows) const {
  auto const& applications = *spec().applications;
  for (auto const& r : s.records) {
    auto const& shape = applications.kernel(r.kernel).shape();
    std::vector<Cell> cells{std::uint64_t{r.kernel}, shape.name, shape.blocks, count_of(r.launched),
                            count_of(r.finished)};
    if (rows_name_applications()) {
      cells.emplace_back(applications[applications.application_of(r.kernel)].name);
      cells.emplace_back(std::uint64_t{r.launch});
    }
    rows.add(0, cells);
  }
  s.records.clear();
}

std::uint64_t Host::launches(std::uint32_t application) const {
  return (*spec().applications)[application].launches();
}

std::uint32_t Host::kernel_of(std::uint32_t application, std::uint32_t number) const {
  auto const& applications = *spec().applications;
  auto const kernels = static_cast<std::uint32_t>(applications[application].workload->kernel_count());
  return applications.first_kernel(application) + number % kernels;
}

std::string Host::waiting_for() const {
  auto const& s = state();
  auto const& applications = *spec().applications;
  std::string text;
  for (std::uint32_t a = 0; a < applications.count(); ++a) {
    auto const& run = s.runs[a];
    if (run.launch >= launches(a)) continue;
    auto const gpus = run.writing_back != 0 ? spec().gpus : applications.gpus_of(a, spec().gpus).size();
    text += (text.empty() ? "" : "; ") + (applications.count() > 1 ? applications[a].name + ": " : "") +
            "kernel " + std::to_string(kernel_of(a, run.launch)) +
            (run.writing_back != 0 ? ", written back by " : ", done by ") + std::to_string(run.reported) +
            " of " + std::to_string(gpus) + " GPUs";
  }
  return text;
}

void Host::on_begin(StartApplication const& m, Cx& cx) const {
  launch_next(m.application, cx);
}

void Host::launch_next(std::uint32_t application, Cx& cx) const {
  auto& s = cx.state();
  auto& run = s.runs[application];
  run.reported = 0;
  run.writing_back = 0;
  run.launched = cx.now();
  run.first_launch = std::min(run.first_launch, cx.now());
  LaunchKernel const order{kernel_of(application, run.launch), run.launch};
  auto const& gpus = (*spec().applications)[application].gpus;
  if (gpus.empty())
    for (std::uint32_t g = 0; g < spec().gpus; ++g) cx.send(launch, g, order);
  for (auto const g : gpus) cx.send(launch, g, order);
}

void Host::on_done(KernelDone const& m, Cx& cx) const {
  auto& s = cx.state();
  auto const application = spec().applications->application_of(m.kernel);
  auto& run = s.runs[application];
  auto const& gpus = (*spec().applications)[application].gpus;
  bool const all = gpus.empty() || run.writing_back != 0;
  if (++run.reported < (all ? spec().gpus : gpus.size())) return;
  if (spec().asks_for_write_back && run.writing_back == 0) {
    run.reported = 0;
    run.writing_back = 1;
    for (std::uint32_t g = 0; g < spec().gpus; ++g) cx.send(kernel_end, g, KernelEnd{m.kernel});
    return;
  }
  s.records.push_back({m.kernel, run.launch, run.launched, cx.now()});
  run.last_end = cx.now();
  ++s.stats[application].kernels;
  if (++run.launch < launches(application)) launch_next(application, cx);
}

}  // namespace farfault
