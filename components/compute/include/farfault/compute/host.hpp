// The launch of kernels: each application's kernels one after the other, on all of its GPUs (the unified
// model of one kernel whose blocks are spread over several GPUs); applications beside each other.
//
// An application's first kernel is launched at its start, the next one when all of its GPUs have reported the
// last block of the one before, and after its last kernel the first again, as often as the application
// repeats.
//
// Where L2 caches are written back at the end of a kernel, it is done when all slices have done so. Other
// GPUs write into a GPU's slices too, so of several GPUs each reports its last block, then the host asks all
// GPUs it has for the write-back, and each reports again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "farfault/compute/block_order.hpp"
#include "farfault/engine/component.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/protocols/applications.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

struct HostParams {
  Duration launch_latency = 5400ns;
  Duration done_latency = 1us;
  PolicyChoice<BlockOrder> block_order{"contiguous"};
  void describe(ParamTable& t);
};

struct KernelRecord {
  std::uint32_t kernel = 0;
  std::uint32_t launch = 0;
  Time launched{};
  Time finished{};
};

// What an application is at.
struct ApplicationRun {
  std::uint32_t launch = 0;  // kernels launched before the one that runs
  std::uint32_t reported = 0;
  std::uint32_t writing_back = 0;  // all have reported the last block
  std::uint32_t unused = 0;
  Time launched{};  // the kernel that runs
  Time first_launch = Time::max();
  Time last_end{};
};

struct HostStats {
  std::uint64_t kernels = 0;

  static std::span<Stat<HostStats> const> list();
};

struct HostState {
  std::vector<ApplicationRun> runs;   // by application
  std::vector<KernelRecord> records;  // finished, and not in a table yet
  ByApplication<HostStats> stats;
};

struct HostSpec {
  HostParams params;
  std::uint32_t gpus = 1;
  Applications const* applications = nullptr;
  bool asks_for_write_back = false;  // at the end of a kernel
};

// For the host's timer.
struct StartApplication {
  std::uint32_t application;
};

class Host final : public Component<HostSpec, HostState> {
 public:
  explicit Host(Slot<HostSpec> slot);
  In<KernelDone> kernel_done = in<&Host::on_done>("kernel_done");
  Self<StartApplication> begin = timer<&Host::on_begin>("begin");
  Out<LaunchKernel> launch = out<LaunchKernel>("launch");
  Out<KernelEnd> kernel_end;  // where it asks for a write-back

  std::string_view kind() const override { return "host"; }
  std::string waiting_for() const override;
  HostState initial() const override;
  ApplicationStats application_stats() const override;
  std::vector<TableInfo> tables() const override;

  // Whether all kernels of the application have run.
  bool has_finished(std::uint32_t application) const {
    return state().runs[application].launch >= launches(application);
  }

  void on_begin(StartApplication const& m, Cx& cx) const;
  void on_done(KernelDone const& m, Cx& cx) const;

 private:
  void take_rows(HostState& s, TableRows& rows) const override;
  std::uint64_t launches(std::uint32_t application) const;
  // Of the application's launch of this number.
  std::uint32_t kernel_of(std::uint32_t application, std::uint32_t number) const;
  bool rows_name_applications() const;
  void launch_next(std::uint32_t application, Cx& cx) const;
};

}  // namespace farfault
