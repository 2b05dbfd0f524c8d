// SPDX-License-Identifier: Apache-2.0
// Service of access counters: the policy decides about each page in the regions that a GPU has counted up to
// the threshold (page_decision.hpp, `counted`).
//
// - A notification buffer per GPU. Its first notification interrupts the driver, which reads up to
//   `counters.batch` entries `counters.interrupt_time` later and serves them in order of arrival, then
//   further ones until the buffer is empty. The GPUs have services of their own, which take turns, page by
//   page.
// - Per region: the pages mapped in the accessed sub-regions, in order of their frames. A page that is in
//   flight, or already on the GPU, is skipped. A page that moves, or is copied, waits for a transition
//   number; with batches, numbers for one eviction unit stay in reserve.
// - Driver time per page that moves or is copied: driver.fault_latency; with batches, driver.batch.page_time.
//   It queues with the driver's other work, and not with batches.
// - A GPU without a free frame gets no page (migrations_refused). Nothing is evicted for counted pages.
// - The counters of a service's regions are cleared when all its pages are mapped.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "farfault/paging/driver_turn.hpp"
#include "farfault/parts/ring.hpp"

namespace farfault {

// interrupted: the service begins at `due`.
enum class CounterPhase : std::uint64_t { idle, interrupted, serving };

// Service of one GPU's notification buffer.
struct CounterService {
  CounterPhase phase = CounterPhase::idle;
  Time due{};
  Ring<CounterNotification> buffer;
  std::vector<CounterNotification> served;  // regions of the current service
  std::uint64_t region = 0;                 // the one at its turn
  std::uint64_t offset = 0;                 // of the next frame in it
  std::uint64_t in_flight = 0;              // pages of the service
};

struct CounterServiceCounts {
  std::uint64_t notifications = 0;
  std::uint64_t pages = 0;
};

class CounterClient {
 public:
  CounterClient() = default;
  explicit CounterClient(PagingDriverSpec const& spec);

  void notified(CounterNotification const& m, DriverTurn& t);
  // Timer: the service of interrupts that are due begins.
  void woken(DriverTurn& t);
  // Begins as many pages as possible; called at the end of each message, after all other clients.
  void serve(DriverTurn& t);

  // Transitions of its pages.
  void changed(PageInFlight const& page, DriverTurn& t) const;
  void ended(PageInFlight const& done) { --services_[done.tag].in_flight; }

  CounterServiceCounts const& counts() const { return counts_; }
  // For the deadlock report; empty if idle.
  std::string waiting_for(PagingDriverSpec const& spec) const;

  auto members() { return std::tie(services_, turn_, serving_, counts_); }

 private:
  enum class Start : std::uint8_t { started, stalled, skipped };

  void read(std::uint32_t gpu, DriverTurn& t);
  // True if a page has begun or the service has ended.
  bool serve_next(std::uint32_t gpu, DriverTurn& t);
  Start serve_page(std::uint32_t gpu, DriverTurn& t);
  Start begin(std::uint64_t page, PageTranslation const& home, std::uint32_t gpu, DriverTurn& t);
  void end(std::uint32_t gpu, DriverTurn& t);

  std::vector<CounterService> services_;  // by the driver's GPU number
  std::uint64_t turn_ = 0;                // GPU whose service is next
  std::uint64_t serving_ = 0;             // services in the phase `serving`
  CounterServiceCounts counts_;
};

}  // namespace farfault
