#include "farfault/components/paging_driver.hpp"

#include <algorithm>
#include <array>

namespace farfault {

void DriverParams::describe(ParamTable& t) {
  t.duration("fault_latency", fault_latency, {1ns, 1s},
             "time the driver takes to map a page that is touched first", "assumed");
  t.duration("notify_latency", notify_latency, {1ns, 1s}, "from the IOMMU to the driver, and back",
             "assumed");
}

PagingDriverState PagingDriver::initial() const {
  PagingDriverState s;
  if (spec().preloaded != nullptr) s.table = *spec().preloaded;
  s.next_frame = spec().first_free;
  s.next_cpu_frame = spec().first_free_cpu;
  return s;
}

std::span<Stat<PagingDriverState> const> PagingDriver::stats() const {
  using S = PagingDriverState const&;
  static constexpr std::array<Stat<PagingDriverState>, 3> all{{
      {"faults", "count", "faults handled", StatKind::counter, [](S s) { return s.faults; }},
      {"mapped", "count", "pages given a frame at their first touch", StatKind::counter,
       [](S s) { return s.mapped; }},
      {"elsewhere", "count", "of these, pages put elsewhere because the GPU was full", StatKind::counter,
       [](S s) { return s.elsewhere; }},
  }};
  return all;
}

PhysAddr PagingDriver::allocate(std::uint32_t gpu, PagingDriverState& s) const {
  auto const gpus = static_cast<std::uint32_t>(s.next_frame.size());
  for (std::uint32_t i = 0; i < gpus; ++i) {
    auto const g = (gpu + i) % gpus;
    if (s.next_frame[g] == spec().frames_a_gpu) continue;
    if (i != 0) ++s.elsewhere;
    return physical(static_cast<DeviceId>(g), s.next_frame[g]++ << spec().page_bits);
  }
  ++s.elsewhere;
  return physical(kFirstCpu, s.next_cpu_frame++ << spec().page_bits);
}

void PagingDriver::on_fault(PageFault const& m, Cx& cx) const {
  auto& s = cx.state();
  ++s.faults;
  auto frame = s.table.find(m.page);
  if (!frame) {
    ++s.mapped;
    frame = allocate(m.gpu, s);
    s.table.map(m.page, *frame);
  }
  s.free_at = std::max(s.free_at, cx.now()) + spec().params.fault_latency;
  cx.send(mapped, m.iommu, PageMapped{m.page, *frame, m.entry, 0}, s.free_at - cx.now());
}

}  // namespace farfault
