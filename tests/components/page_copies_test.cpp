// SPDX-License-Identifier: Apache-2.0
// Read-only page copies: the driver's record of them and its messages about them, exact to the nanosecond.
#include "farfault/paging/page_copies.hpp"

#include <doctest/doctest.h>

#include "farfault/paging/paging_driver.hpp"
#include "mock.hpp"
#include "packets.hpp"
#include "placed_pages.hpp"
#include "policies.hpp"

namespace page_copies_test {

using namespace farfault;
using namespace farfault::mock;

TEST_CASE("page copies: a copy is found by its device, and removing all leaves none") {
  PageCopies copies(12, 1);
  CHECK_FALSE(copies.read_only(7));
  copies.add(7, physical(1, 0x1000));
  copies.add(7, physical(3, 0x2000));
  copies.add(8, physical(1, 0x3000));
  CHECK(copies.find(7, 1) == physical(1, 0x1000));
  CHECK(copies.find(7, 3) == physical(3, 0x2000));
  CHECK_FALSE(copies.find(7, 2));
  std::vector<PhysAddr> taken;
  copies.take_all(7, [&](PhysAddr frame) { taken.push_back(frame); });
  CHECK(taken == std::vector<PhysAddr>{physical(3, 0x2000), physical(1, 0x1000)});
  CHECK_FALSE(copies.read_only(7));
  CHECK(copies.find(8, 1) == physical(1, 0x3000));
  copies.add(7, physical(2, 0x4000));  // reuses an entry
  CHECK(copies.find(7, 2) == physical(2, 0x4000));
  CHECK_FALSE(copies.find(7, 1));
}

TEST_CASE("page copies: a dropped copy is not found, its slot is reused, and the page stays read-only") {
  PageCopies copies(12, 1);
  for (int round = 0; round < 100; ++round) {
    copies.add(7, physical(1, 0x1000));
    copies.add(7, physical(2, 0x2000));
    copies.add(7, physical(3, 0x3000));
    CHECK(copies.latest(7) == 3);
    CHECK(copies.take(7, 2) == physical(2, 0x2000));
    CHECK_FALSE(copies.find(7, 2));
    CHECK(copies.find(7, 1) == physical(1, 0x1000));
    CHECK(copies.take(7, 3) == physical(3, 0x3000));
    CHECK(copies.latest(7) == 1);
    CHECK(copies.take(7, 1) == physical(1, 0x1000));
    CHECK_FALSE(copies.latest(7));
    CHECK(copies.read_only(7));
  }
  CHECK(std::get<1>(copies.members()).size() == 4);
  copies.take_all(7, [](PhysAddr) { CHECK(false); });
  CHECK_FALSE(copies.read_only(7));
}

TEST_CASE("a read-only translation keeps its frame and permits no write") {
  PageTranslation const shared{read_only(physical(5, 0x3000)), 0};
  CHECK(shared.allows(Access::read));
  CHECK_FALSE(shared.allows(Access::write));
  CHECK(shared.physical_of(0x7123, 12) == physical(5, 0x3123));
  CHECK(device_of(shared.frame) == 5);
  CHECK(PageTranslation{physical(5, 0x3000), 0}.allows(Access::write));
  CHECK_FALSE(is_read_only(kNoFrame));
}

namespace {

using Times = std::vector<std::int64_t>;

Record<PageFault> fault(Time at, std::uint16_t gpu, Access access, std::uint64_t page = 7) {
  PageFault f{};
  f.page = page;
  f.gpu = gpu;
  f.entry = 40U + gpu;
  f.kind = FaultKind::remote;
  f.recorded_by_gpu = 1;
  f.access = access;
  return {at, f};
}

// Page 7 is on GPU 0. Three GPUs have `frames` frames each.
struct CopyBench : Bench {
  CopyBench(std::vector<Record<PageFault>> faults, std::vector<Record<StepDone>> unmapped,
            std::vector<Record<CopyDone>> copied, std::uint64_t frames = 4, bool third_is_full = false)
      : driver(system.add<PagingDriver>("driver", spec_of(frames, third_is_full))) {
    feed(driver.fault, as_packets(faults));
    feed(driver.step_done, std::move(unmapped));
    feed(driver.copied, std::move(copied));
    mapped = sinks(driver.mapped, 1)[0];
    join(driver.placed, mapped->in_port);
    moves = sinks(driver.move, 1)[0];
    for (auto* s : sinks(driver.copy, 3)) copies.push_back(s);
    run();
  }
  static PagingDriverSpec spec_of(std::uint64_t frames, bool third_is_full) {
    static auto const table = [] {
      PageTable t(0, 12);
      t.map(7, physical(0, 0));
      return t;
    }();
    static auto const table_of_full = [] {
      PageTable t(0, 12);
      t.map(7, physical(0, 0));
      t.map(8, physical(2, 0));
      t.map(9, physical(2, 4096));
      return t;
    }();
    static std::vector<PlacedPage> const placed{{7, 0, 0}};
    static std::vector<PlacedPage> const with_others{{7, 0, 0}, {8, 2, 0}, {9, 2, 0}};
    PagingDriverSpec spec;
    spec.decide_by(PolicyChoice<PageDecision>("duplicate"));
    spec.frames_per_gpu = frames;
    spec.placed = third_is_full ? &with_others : &placed;
    spec.preloaded = third_is_full ? &table_of_full : &table;
    spec.iommus = 1;
    spec.devices = NodeDevices(3);
    return spec;
  }
  PageMapped const& answer(std::size_t i) const { return mapped->records()[i].message; }

  PagingDriver& driver;
  Sink<PageMapped>* mapped;
  Sink<PageMove>* moves;
  std::vector<Sink<CopyOrder>*> copies;
};

}  // namespace

TEST_CASE("driver: a first remote read unmaps the page, copies it, and leaves page and copy read-only") {
  CopyBench b({fault(Time{100ns}, 1, Access::read)}, {{Time{2us}, {0}}}, {{Time{5us}, {0}}});
  // 1 us in the driver, 1 ns per link.
  CHECK(b.moves->nanoseconds() == Times{1101, 5001});
  CHECK(b.moves->records()[0].message.step == MoveStep::unmap);
  CHECK(b.moves->records()[1].message.step == MoveStep::remap);
  CHECK(b.moves->records()[1].message.frame == read_only(physical(0, 0)));
  CHECK(b.copies[1]->nanoseconds() == Times{2001});
  CHECK(b.copies[1]->records()[0].message.from == physical(0, 0));
  CHECK(b.copies[1]->records()[0].message.to == physical(1, 0));
  REQUIRE(b.mapped->nanoseconds() == Times{5001});
  CHECK(b.answer(0).kind == FaultKind::copied);
  CHECK(b.answer(0).frame == read_only(physical(1, 0)));
  CHECK(b.answer(0).gpu == 1);
  CHECK(b.driver.state().memory.table().find(7)->frame == physical(0, 0));
  CHECK(b.driver.waiting_for().empty());
}

TEST_CASE(
    "driver: further GPUs get copies with the page mapped; GPUs that fault meanwhile follow the first") {
  CopyBench b({fault(Time{100ns}, 1, Access::read), fault(Time{3us}, 2, Access::read),
               fault(Time{10us}, 1, Access::read)},
              {{Time{2us}, {0}}}, {{Time{5us}, {0}}, {Time{8us}, {0}}});
  CHECK(b.moves->count() == 2);
  CHECK(b.copies[2]->nanoseconds() == Times{6001});  // the driver's microsecond starts at 5 us
  CHECK(b.mapped->nanoseconds() == Times{5001, 8001, 10001});
  CHECK(b.answer(1).frame == read_only(physical(2, 0)));
  CHECK(b.answer(2).frame == read_only(physical(1, 0)));  // it has a copy: no transfer
  CHECK(b.driver.state().memory.frames(2).available() == 3);
}

TEST_CASE("driver: a write by a GPU with a copy makes the copy the page, and drops all others") {
  CopyBench b({fault(Time{100ns}, 1, Access::read), fault(Time{3us}, 2, Access::read),
               fault(Time{20us}, 1, Access::write)},
              {{Time{2us}, {0}}, {Time{25us}, {0}}}, {{Time{5us}, {0}}, {Time{8us}, {0}}});
  CHECK(b.moves->nanoseconds() == Times{1101, 5001, 21001, 25001});
  CHECK(b.moves->records()[2].message.step == MoveStep::unmap);
  CHECK(b.moves->records()[3].message.frame == physical(1, 0));
  CHECK(b.answer(2).frame == physical(1, 0));
  CHECK(b.answer(2).kind == FaultKind::remote);
  CHECK(b.mapped->nanoseconds()[2] == 25001);
  auto const& s = b.driver.state();
  CHECK(s.memory.table().find(7)->frame == physical(1, 0));
  CHECK_FALSE(s.memory.copies().read_only(7));
  CHECK(s.memory.frames(0).available() == 4);
  CHECK(s.memory.frames(1).available() == 3);
  CHECK(s.memory.frames(2).available() == 4);
  CHECK(s.stats[0].migrations == 1);
}

TEST_CASE("driver: a write by the GPU with the page drops the copies and copies nothing") {
  CopyBench b({fault(Time{100ns}, 1, Access::read), fault(Time{20us}, 0, Access::write)},
              {{Time{2us}, {0}}, {Time{25us}, {0}}}, {{Time{5us}, {0}}});
  CHECK(b.answer(1).frame == physical(0, 0));
  CHECK(b.mapped->nanoseconds()[1] == 25001);
  CHECK(b.driver.state().memory.frames(0).available() == 3);
  CHECK(b.driver.state().memory.frames(1).available() == 4);
  CHECK(b.driver.state().stats[0].migrations == 0);
}

TEST_CASE("driver: a write by a GPU without a copy migrates the page once no copy is left") {
  CopyBench b({fault(Time{100ns}, 1, Access::read), fault(Time{20us}, 2, Access::write)},
              {{Time{2us}, {0}}, {Time{25us}, {0}}}, {{Time{5us}, {0}}, {Time{30us}, {0}}});
  CHECK(b.copies[2]->nanoseconds() == Times{25001});
  CHECK(b.copies[2]->records()[0].message.from == physical(0, 0));
  CHECK(b.answer(1).frame == physical(2, 0));
  CHECK(b.mapped->nanoseconds()[1] == 30001);
  for (std::uint32_t g : {0U, 1U}) CHECK(b.driver.state().memory.frames(g).available() == 4);
}

TEST_CASE("driver: a GPU with full memory reads the page remotely, while others have copies") {
  // Page 7 has a copy on GPU 1. Pages 8 and 9 occupy the frames of GPU 2.
  CopyBench b({fault(Time{100ns}, 1, Access::read), fault(Time{20us}, 2, Access::read),
               fault(Time{40us}, 2, Access::write)},
              {{Time{2us}, {0}}, {Time{45us}, {0}}}, {{Time{5us}, {0}}}, 2, true);
  CHECK(b.copies[2]->count() == 0);
  CHECK(b.answer(1).frame == read_only(physical(0, 0)));
  CHECK(b.mapped->nanoseconds()[1] == 21001);
  // No copies remain, and GPU 2 writes the page on GPU 0.
  CHECK(b.answer(2).frame == physical(0, 0));
  CHECK(b.mapped->nanoseconds()[2] == 45001);
  CHECK_FALSE(b.driver.state().memory.copies().read_only(7));
  CHECK(b.driver.state().stats[0].migrations_refused == 2);
}

TEST_CASE("driver: a GPU with remote reads of a page gets no copy until all copies have been dropped") {
  CopyBench b({fault(Time{100ns}, 1, Access::read), fault(Time{20us}, 2, Access::read),
               fault(Time{40us}, 1, Access::write, 8), fault(Time{60us}, 2, Access::read),
               fault(Time{80us}, 1, Access::write), fault(Time{100us}, 0, Access::read),
               fault(Time{120us}, 2, Access::read)},
              {{Time{2us}, {0}}, {Time{45us}, {0}}, {Time{85us}, {0}}, {Time{105us}, {0}}},
              {{Time{5us}, {0}}, {Time{50us}, {0}}, {Time{110us}, {0}}, {Time{125us}, {0}}}, 2, true);
  REQUIRE(b.mapped->count() == 7);
  CHECK(b.answer(1).frame == read_only(physical(0, 0)));
  CHECK(device_of(b.answer(2).frame) == 1);  // page 8 left GPU 2, which now has a frame for a copy
  CHECK(b.answer(3).frame == read_only(physical(0, 0)));
  CHECK(device_of(b.answer(4).frame) == 1);
  CHECK(device_of(b.answer(5).frame) == 0);
  CHECK(b.copies[2]->nanoseconds() == Times{121001});
  CHECK(b.answer(6).frame == read_only(physical(2, 0)));
  CHECK(b.mapped->nanoseconds()[6] == 125001);
}

}  // namespace page_copies_test
