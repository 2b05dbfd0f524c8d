// The driver's memory manager: where every page lies, and what happens at the first touch of one that lies
// nowhere yet.
//
// A fault takes `fault_latency` of the driver, one fault after the other; the page is given a frame of the
// GPU that touched it, or, when that GPU is full, of the next one that is not, and of the CPU last. The
// contents are taken to be there.
#pragma once

#include <string>
#include <vector>

#include "farfault/components/parts/page_table.hpp"
#include "farfault/engine/component.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

struct DriverParams {
  Duration fault_latency = 1us;
  Duration notify_latency = 500ns;
  void describe(ParamTable& t);
};

struct PagingDriverSpec {
  DriverParams params;
  unsigned page_bits = 12;
  std::vector<std::uint64_t> first_free;  // frames, by GPU: those below are taken at time zero
  std::uint64_t frames_a_gpu = 0;
  std::uint64_t first_free_cpu = 0;
  PageTable const* preloaded = nullptr;
};

struct PagingDriverState {
  PageTable table;
  std::vector<std::uint64_t> next_frame;  // by GPU
  std::uint64_t next_cpu_frame = 0;
  Time free_at{};
  std::uint64_t faults = 0;
  std::uint64_t mapped = 0;
  std::uint64_t elsewhere = 0;
};

class PagingDriver final : public Component<PagingDriverSpec, PagingDriverState> {
 public:
  using Component::Component;
  In<PageFault> fault = in<&PagingDriver::on_fault>("fault");
  Out<PageMapped> mapped = out<PageMapped>("mapped");

  std::string_view kind() const override { return "driver"; }
  PagingDriverState initial() const override;
  std::span<Stat<PagingDriverState> const> stats() const override;

  void on_fault(PageFault const& m, Cx& cx) const;

 private:
  PhysAddr allocate(std::uint32_t gpu, PagingDriverState& s) const;
};

}  // namespace farfault
