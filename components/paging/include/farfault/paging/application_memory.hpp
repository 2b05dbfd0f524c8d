// SPDX-License-Identifier: Apache-2.0
// Memory of a machine before the first kernel, as seen by the page placement of one application.
//
// The application's GPUs are numbered from 0, in order; a DeviceId is the machine's own number of a device
// (InitialMemory). Page numbers include the application's address space.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "farfault/paging/initial_memory.hpp"

namespace farfault {

class ApplicationMemory {
 public:
  ApplicationMemory(InitialMemory& memory, std::uint32_t application)
      : memory_(memory),
        application_(application),
        gpus_(memory.applications().gpus_of(application, memory.gpus())) {}

  std::uint32_t gpus() const { return static_cast<std::uint32_t>(gpus_.size()); }
  Workload const& workload() const { return *memory_.applications()[application_].workload; }
  // Indexed by buffer of the workload.
  std::vector<PageRange> const& buffers() const { return memory_.buffers(application_); }
  // Calls f(buffer, page, size) for every page of the buffers, in order; for a large page with its first base
  // page.
  template <class F>
  void each_page(F&& f) const {
    for (auto const& b : buffers())
      for (auto page = b.first; page < b.first + b.count;) {
        auto const size = memory_.large_pages().size_of(page);
        f(b, page, size);
        page = first_of(page, size) + (std::uint64_t{1} << size);
      }
  }
  // Page number within the address space.
  std::uint64_t in_space(std::uint64_t page) const { return page_in_space(page, memory_.page_bits()); }

  // Maps the page that contains base page `page` to a frame of any device; false if its memory is full.
  // Without a free large frame, a large page is mapped as base pages.
  [[nodiscard]] bool place(std::uint64_t page, DeviceId device) { return memory_.place(page, device); }
  // The same on GPU n of the application or, if its memory is full, on the application's next GPU with room,
  // then on any other GPU, then on the CPU; false if all are full.
  [[nodiscard]] bool place_near(std::uint64_t page, std::uint32_t n) {
    return memory_.place_near(page, gpus_, n);
  }

  // The memory of the whole machine, including the placement of each page.
  InitialMemory const& machine() const { return memory_; }

 private:
  InitialMemory& memory_;
  std::uint32_t application_;
  std::vector<std::uint32_t> gpus_;
};

}  // namespace farfault
