// SPDX-License-Identifier: Apache-2.0
// The memory of a machine before the first kernel, as the placement of one application's pages sees it.
//
// The application's GPUs are numbered from 0, in their order; a DeviceId is the machine's own number of a
// device (InitialMemory). Page numbers name the application's address space.
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
  // By buffer of the workload.
  std::vector<PageRange> const& buffers() const { return memory_.buffers(application_); }
  // Calls f(buffer, page, size) for every page of the buffers, in order; for a large one with its first base
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
  // The page's number within its address space.
  std::uint64_t in_space(std::uint64_t page) const { return page_in_space(page, memory_.page_bits()); }

  // Maps the page that holds base page `page` in a frame of any device of the machine; false when its memory
  // is full. A large page for which it has no large frame is mapped as base pages.
  [[nodiscard]] bool place(std::uint64_t page, DeviceId device) { return memory_.place(page, device); }
  // On GPU n of the application or, where its memory is full, on the next one of the application that has
  // room, then on any other, and on the CPU last; false when all are full.
  [[nodiscard]] bool place_near(std::uint64_t page, std::uint32_t n) {
    return memory_.place_near(page, gpus_, n);
  }

  // All of it, and where a page was placed.
  InitialMemory const& machine() const { return memory_; }

 private:
  InitialMemory& memory_;
  std::uint32_t application_;
  std::vector<std::uint32_t> gpus_;
};

}  // namespace farfault
