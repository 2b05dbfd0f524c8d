// SPDX-License-Identifier: Apache-2.0
// Pages in flight: takes the steps of their transitions (page_transition.hpp).
//
// - Passive: it knows no time and sends no message. next() takes steps until a message has to be sent, the
//   client has to act, or the transition waits, and returns that as an Action. The owner calls next() again
//   after it has acted, until `wait` or `ended`.
// - Waiting ends by acknowledge(), once per IOMMU; by copied(); or by admit().
// - A page takes part in one transition at a time. Up to `in_flight` transitions have a number, taken in the
//   order last returned, first taken. One more number, immediate(), is for a transition without waiting.
// - Frames: a client that gives `to` has taken that frame; the step `allocate` is then skipped.
// - No allocation after construction, except for the first record of a page.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "farfault/engine/archive.hpp"
#include "farfault/paging/driver_memory.hpp"
#include "farfault/paging/page_records.hpp"
#include "farfault/paging/page_transition.hpp"

namespace farfault {

enum class PagingClient : std::uint8_t { faults, programs, relocations, batch, evictions, counters };

// A page in flight. A client sets the fields up to `fetches`, except `started`.
struct PageInFlight {
  PageFault request{};  // page, GPU, application; the fault that is answered
  PhysAddr from = kNoFrame;
  PhysAddr to = kNoFrame;
  Time started{};
  Time unmapped{};          // when no IOMMU and no GPU could reach `from` any more
  std::uint32_t tag = 0;    // private to the client
  std::uint32_t bytes = 0;  // that are copied; 0: the page
  Transition transition = Transition::move;
  PagingClient client = PagingClient::faults;
  std::uint8_t size = 0;
  std::uint8_t consents = 0;  // the client consents before a frame is taken
  std::uint8_t confirms = 0;  // IOMMUs acknowledge the new frame
  std::uint8_t answers = 0;   // the fault is answered
  std::uint8_t fetches = 0;   // the host wrote the contents of this unmapped page
  std::uint8_t in_place = 0;  // the contents are in the frame `to`, or need not be there
  std::uint32_t awaited = 0;  // outstanding acknowledgements, copy or consent
  std::uint8_t step = 0;      // number of the next step in the row
  std::uint8_t in_use = 0;
  std::uint8_t copied = 0;  // a copy was ordered
  std::uint8_t unused = 0;

  std::uint64_t page() const { return request.page; }
  std::uint64_t first_page() const { return first_of(page(), size); }
  bool contains(std::uint64_t p) const { return first_of(p, size) == first_page(); }
  // Latest step that was begun.
  PageStep current() const { return step == 0 ? PageStep::end : row_of(transition).steps[step - 1U]; }
  bool awaits_iommus() const {
    return awaited != 0 && current() != PageStep::copy && current() != PageStep::consent;
  }
  bool awaits_consent() const { return awaited != 0 && current() == PageStep::consent; }
};

class TransitionExecutor {
 public:
  // tell: send `message` to every IOMMU. copy: order the copy of the page. consent: the client is asked.
  // left: a copy on `device` was dropped. changed: the page or a copy is at its new frame, in the driver's
  // table. refused: no frame was free. answer: answer the fault. ended: the client calls finish().
  enum class Kind : std::uint8_t { wait, tell, copy, consent, left, changed, refused, answer, ended };
  struct Action {
    Kind kind = Kind::wait;
    PageMove message{};
    DeviceId device = 0;
  };

  TransitionExecutor() = default;
  explicit TransitionExecutor(PagingDriverSpec const& spec);

  std::uint64_t free() const { return free_.size(); }
  std::uint64_t in_flight() const { return pages_.empty() ? 0 : pages_.size() - 1 - free_.size(); }
  PageInFlight const& operator[](std::uint32_t number) const { return pages_[number]; }
  std::vector<PageInFlight> const& pages() const { return pages_; }
  // Number of the transition of the page; requires is_in_flight() and batches.
  std::uint32_t number_of(std::uint64_t page) const { return *numbers_.find(page) - 1; }
  bool is_in_flight(std::uint64_t page) const;
  // Size of a page to be mapped: large only if no part of it is mapped or in flight.
  unsigned size_for(std::uint64_t page, DriverMemory const& memory) const;
  std::uint32_t immediate() const { return static_cast<std::uint32_t>(pages_.size() - 1); }

  // Returns its number; requires free() > 0.
  std::uint32_t begin(PageInFlight const& page, Time now);
  void begin_immediate(PageInFlight const& page, Time now);
  Action next(std::uint32_t number, DriverMemory& memory, Time now);
  // True: all IOMMUs have acknowledged the step.
  bool acknowledge(std::uint32_t number);
  void copied(std::uint32_t number);
  void admit(std::uint32_t number, bool in_place = false);
  // The page, which waits for consent, keeps its frame.
  void restore(std::uint32_t number);
  PageInFlight finish(std::uint32_t number);

  // Times that each step has been taken. A skipped step is not counted.
  std::array<std::uint64_t, kPageSteps> const& taken() const { return taken_; }

  void archive(Archive& a) { a(pages_, free_, numbers_, taken_); }

 private:
  bool take(PageStep step, PageInFlight& p, DriverMemory& memory, Time now, Action& action);
  Action tell(PageInFlight& p, MoveStep step, PhysAddr frame, bool waits) const;
  // All base pages of a large page.
  void number_pages(PageInFlight const& p, std::uint32_t value);

  PagingDriverSpec const* spec_ = nullptr;
  std::vector<PageInFlight> pages_;  // indexed by number
  std::vector<std::uint32_t> free_;
  PageRecords<std::uint32_t> numbers_;  // by base page, its number plus one
  std::array<std::uint64_t, kPageSteps> taken_{};
};

}  // namespace farfault
