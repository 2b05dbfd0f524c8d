// SPDX-License-Identifier: Apache-2.0
// The executor of page transitions alone: for each transition, all steps in order, the messages, and the free
// frames. Three GPUs of four frames and two IOMMUs; page 7 is in frame 0 of GPU 0, page 8 in the host's
// memory.
#include "farfault/paging/transition_executor.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "choices.hpp"
#include "death.hpp"

namespace transition_executor_test {

using namespace farfault;

namespace {

using Kind = TransitionExecutor::Kind;
using Words = std::vector<std::string>;

PagingDriverSpec spec_of(bool copies, bool flushes, bool batches = true) {
  static std::vector<PlacedPage> const placed{{7, 0, 0}, {8, kFirstCpu, 0}};
  static auto const table = [] {
    PageTable t(0, 12);
    t.map(7, physical(0, 0));
    t.map(8, physical(kFirstCpu, 0));
    return t;
  }();
  PagingDriverSpec spec;
  spec.placed = &placed;
  spec.preloaded = &table;
  spec.devices = NodeDevices(3);
  spec.frames_per_gpu = 4;
  spec.frames_of_cpu = 8;
  spec.iommus = 2;
  spec.params.migrations = 4;
  spec.makes_copies = copies;
  spec.flush_moving_pages = flushes;
  spec.in_batches = batches;
  return spec;
}

std::string frame(PhysAddr f) {
  if (f == kNoFrame) return "none";
  auto const bare = f & ~kReadOnly;
  return device_name(device_of(bare)) + ":" + std::to_string(offset_of(bare) >> 12) +
         (is_read_only(f) ? " read-only" : "");
}

struct Pages {
  explicit Pages(PagingDriverSpec const& with) : spec(with), memory(spec), executor(spec) {}

  PageInFlight page(std::uint64_t number, DeviceId gpu, Transition transition) const {
    PageInFlight p;
    p.request.page = number;
    p.request.gpu = gpu;
    p.transition = transition;
    if (auto const home = memory.home(number)) p.from = home->frame;
    return p;
  }
  std::uint32_t begin(PageInFlight const& p) { return executor.begin(p, now); }
  // Everything that the executor returns until it waits or the transition ends.
  Words run(std::uint32_t number) {
    static constexpr std::array<char const*, 8> kMessages{"unmap", "flush",    "remap", "forget",
                                                          "map",   "map copy", "drop",  "map remote"};
    Words words;
    while (true) {
      auto const action = executor.next(number, memory, now);
      auto const& p = executor[number];
      switch (action.kind) {
        case Kind::wait:
          return words;
        case Kind::tell:
          CHECK(action.message.page == p.first_page());
          CHECK(action.message.size == p.size);
          CHECK(action.message.move == number);
          if (action.message.gpu != kNoGpu) writers.push_back(device_name(action.message.gpu));
          words.push_back(std::string(kMessages.at(static_cast<std::size_t>(action.message.step))) + " " +
                          frame(action.message.frame));
          break;
        case Kind::copy:
          words.push_back("copy " + frame(p.from) + " to " + frame(p.to));
          break;
        case Kind::consent:
          words.emplace_back("consent");
          break;
        case Kind::left:
          words.push_back("left " + device_name(action.device));
          break;
        case Kind::changed:
          words.push_back("changed to " + frame(p.to));
          break;
        case Kind::refused:
          words.emplace_back("refused");
          break;
        case Kind::answer:
          words.emplace_back("answer");
          break;
        case Kind::ended:
          words.emplace_back("ended");
          done = executor.finish(number);
          return words;
      }
    }
  }
  // Both IOMMUs acknowledge; the transition goes on only after the second one.
  Words acknowledged(std::uint32_t number) {
    CHECK_FALSE(executor.acknowledge(number));
    CHECK(run(number).empty());
    CHECK(executor.acknowledge(number));
    return run(number);
  }
  Words copied(std::uint32_t number) {
    executor.copied(number);
    return run(number);
  }
  Words admitted(std::uint32_t number, bool in_place = false) {
    executor.admit(number, in_place);
    return run(number);
  }
  // Makes a copy of page 7 on the GPU.
  void copy_to(DeviceId gpu) {
    auto const number = begin(page(7, gpu, transition_to(PageGoal::readable, memory.state_of(7))));
    run(number);
    while (executor[number].awaits_iommus()) acknowledged(number);
    CHECK(copied(number).back() == "ended");
  }
  std::vector<std::uint64_t> free_frames() const {
    return {memory.frames(0).available(), memory.frames(1).available(), memory.frames(2).available(),
            memory.cpu_frames().available()};
  }
  using Frames = std::vector<std::uint64_t>;

  PagingDriverSpec spec;
  DriverMemory memory;
  TransitionExecutor executor;
  Time now{};
  PageInFlight done;
  Words writers;  // devices that a message names as the ones that map the page
};

}  // namespace

TEST_CASE("a first touch takes a frame, maps it and answers, without waiting") {
  Pages b(spec_of(false, false));
  auto p = b.page(9, 1, Transition::first_touch);
  p.answers = 1;
  CHECK(b.run(b.begin(p)) == Words{"changed to gpu1:0", "answer", "ended"});
  CHECK(b.memory.home(9) == PageTranslation{physical(1, 0)});
  CHECK(b.free_frames() == Pages::Frames{3, 3, 4, 7});
}

TEST_CASE("a first touch without waiting takes no number") {
  Pages b(spec_of(false, false));
  for (std::uint64_t page : {20U, 21U, 22U, 23U}) b.begin(b.page(page, 2, Transition::allocate));
  CHECK(b.executor.free() == 0);
  b.executor.begin_immediate(b.page(9, 1, Transition::first_touch), b.now);
  CHECK(b.executor.in_flight() == 4);
  CHECK(b.run(b.executor.immediate()) == Words{"changed to gpu1:0", "ended"});
  CHECK(b.executor.free() == 0);
  CHECK(b.executor.in_flight() == 4);
  CHECK(b.done.page() == 9);
}

TEST_CASE("a first touch of a batch waits for consent, fetches the host's contents and is confirmed") {
  Pages b(spec_of(false, false));
  auto p = b.page(9, 1, Transition::first_touch);
  p.consents = p.confirms = p.fetches = 1;
  auto const number = b.begin(p);
  CHECK(b.run(number) == Words{"consent"});
  CHECK(b.free_frames() == Pages::Frames{3, 4, 4, 7});
  CHECK(b.admitted(number) == Words{"copy cpu0:1 to gpu1:0"});
  CHECK(b.free_frames() == Pages::Frames{3, 3, 4, 6});
  CHECK(b.copied(number) == Words{"changed to gpu1:0", "map gpu1:0"});
  CHECK(b.free_frames() ==
        Pages::Frames{3, 3, 4, 7});  // the host's frame is free before the acknowledgements
  CHECK(b.acknowledged(number) == Words{"ended"});
}

TEST_CASE(
    "a move unmaps everywhere, copies, maps, frees the old frame, announces and answers, in this order") {
  Pages b(spec_of(false, false));
  auto p = b.page(7, 2, Transition::move);
  p.answers = 1;
  auto const number = b.begin(p);
  CHECK(b.run(number) == Words{"unmap gpu0:0"});
  CHECK(b.executor[number].awaits_iommus());
  CHECK(b.free_frames() == Pages::Frames{3, 4, 4, 7});
  b.now = Time{5us};
  CHECK(b.acknowledged(number) == Words{"copy gpu0:0 to gpu2:0"});
  CHECK_FALSE(b.executor[number].awaits_iommus());
  CHECK(b.free_frames() == Pages::Frames{3, 4, 3, 7});
  CHECK(b.memory.home(7) == PageTranslation{physical(0, 0)});
  b.now = Time{9us};
  CHECK(b.copied(number) == Words{"changed to gpu2:0", "remap gpu2:0", "answer", "ended"});
  CHECK(b.memory.home(7) == PageTranslation{physical(2, 0)});
  CHECK(b.free_frames() == Pages::Frames{4, 4, 3, 7});
  CHECK(b.done.started == Time{});
  CHECK(b.done.unmapped == Time{5us});
}

TEST_CASE(
    "lines of a GPU's page are flushed after both acknowledgements, and the page is unmapped after both "
    "flushes") {
  Pages b(spec_of(false, true));
  auto const number = b.begin(b.page(7, 2, Transition::move));
  CHECK(b.run(number) == Words{"unmap gpu0:0"});
  b.now = Time{5us};
  CHECK(b.acknowledged(number) == Words{"flush gpu0:0"});
  CHECK(b.executor[number].awaits_iommus());
  b.now = Time{6us};
  CHECK(b.acknowledged(number) == Words{"copy gpu0:0 to gpu2:0"});
  CHECK(b.executor[number].unmapped == Time{6us});
  auto const of_host = b.begin(b.page(8, 1, Transition::move));
  CHECK(b.run(of_host) == Words{"unmap cpu0:0"});
  CHECK(b.acknowledged(of_host) == Words{"copy cpu0:0 to gpu1:0"});
}

TEST_CASE("a move that its client admits and confirms has its new frame confirmed, not announced") {
  Pages b(spec_of(false, false));
  auto p = b.page(8, 1, Transition::move);
  p.consents = p.confirms = 1;
  auto const number = b.begin(p);
  CHECK(b.run(number) == Words{"unmap cpu0:0"});
  CHECK(b.acknowledged(number) == Words{"consent"});
  CHECK(b.run(number).empty());
  CHECK(b.admitted(number) == Words{"copy cpu0:0 to gpu1:0"});
  CHECK(b.copied(number) == Words{"changed to gpu1:0", "map gpu1:0"});
  CHECK(b.free_frames() == Pages::Frames{3, 3, 4, 8});
  CHECK(b.acknowledged(number) == Words{"ended"});
}

TEST_CASE("a move to a full GPU is refused, and the page keeps its frame") {
  Pages b(spec_of(false, false));
  for (std::uint64_t i = 0; i < 4; ++i) b.memory.take(30 + i, 0, 2);
  auto const number = b.begin(b.page(7, 2, Transition::move));
  b.run(number);
  CHECK(b.acknowledged(number) == Words{"refused", "changed to gpu0:0", "remap gpu0:0", "ended"});
  CHECK(b.free_frames() == Pages::Frames{3, 4, 0, 7});
}

TEST_CASE("a page that cannot keep its frame must find a free one, and a row begins in its state only") {
  auto const printed = [](Transition t, bool full) {
    return death_of([&] {
             Pages b(spec_of(true, false));
             for (std::uint64_t i = 0; full && i < 4; ++i) b.memory.take(30 + i, 0, 2);
             auto const number = b.begin(b.page(t == Transition::first_touch ? 50 : 7, 2, t));
             b.run(number);
             b.acknowledged(number);
           })
        .printed;
  };
  auto const has = [](std::string const& text, char const* part) {
    return text.find(part) != std::string::npos;
  };
  auto const* const no_frame = "no frame was free for a page that cannot keep its frame";
  CHECK(has(printed(Transition::duplicate, true), no_frame));
  CHECK(has(printed(Transition::first_touch, true), no_frame));
  CHECK_FALSE(has(printed(Transition::duplicate, false), no_frame));
  auto const* const other_state = "a transition began in a state that it does not begin in";
  for (auto const t : {Transition::copy_again, Transition::collapse, Transition::allocate})
    CHECK(has(printed(t, false), other_state));
}

TEST_CASE("a restored page is mapped again in its frame, and one that was never unmapped ends at once") {
  Pages b(spec_of(false, false));
  auto p = b.page(7, 2, Transition::move);
  p.consents = 1;
  auto const moved = b.begin(p);
  b.run(moved);
  CHECK(b.acknowledged(moved) == Words{"consent"});
  b.executor.restore(moved);
  CHECK(b.run(moved) == Words{"remap gpu0:0", "ended"});
  auto q = b.page(9, 2, Transition::first_touch);
  q.consents = 1;
  auto const touched = b.begin(q);
  CHECK(b.run(touched) == Words{"consent"});
  b.executor.restore(touched);
  CHECK(b.run(touched) == Words{"ended"});
  CHECK(b.free_frames() == Pages::Frames{3, 4, 4, 7});
}

TEST_CASE("the first copy unmaps and protects the page, a further one only copies") {
  Pages b(spec_of(true, false));
  auto p = b.page(7, 1, Transition::duplicate);
  p.answers = 1;
  auto const first = b.begin(p);
  CHECK(b.run(first) == Words{"unmap gpu0:0"});
  CHECK(b.acknowledged(first) == Words{"copy gpu0:0 to gpu1:0"});
  CHECK_FALSE(b.memory.is_shared(7));
  CHECK(b.copied(first) == Words{"changed to gpu1:0", "remap gpu0:0 read-only", "answer", "ended"});
  CHECK(b.memory.is_shared(7));
  CHECK(b.memory.state_of(7) == PageState::shared);
  auto const second = b.begin(b.page(7, 2, Transition::copy_again));
  CHECK(b.run(second) == Words{"copy gpu0:0 to gpu2:0"});
  CHECK(b.copied(second) == Words{"changed to gpu2:0", "ended"});
  CHECK(b.memory.home(7) == PageTranslation{physical(0, 0)});
  CHECK(b.free_frames() == Pages::Frames{3, 3, 3, 7});
}

TEST_CASE("a page that a GPU maps remotely stays: the GPU's table is confirmed, or the answer writes it") {
  for (bool const confirms : {false, true}) {
    Pages b(spec_of(false, true));
    auto p = b.page(7, 2, Transition::map_remotely);
    p.consents = 1;
    p.confirms = confirms ? 1 : 0;
    p.answers = confirms ? 0 : 1;
    auto const number = b.begin(p);
    CHECK(b.run(number) == Words{"consent"});
    CHECK(b.admitted(number) == (confirms ? Words{"map remote gpu0:0"} : Words{"answer", "ended"}));
    if (confirms) CHECK(b.acknowledged(number) == Words{"ended"});
    CHECK(b.writers == (confirms ? Words{"gpu2"} : Words{}));
    CHECK(b.memory.home(7) == PageTranslation{physical(0, 0)});
    CHECK(b.free_frames() == Pages::Frames{3, 4, 4, 7});
  }
}

TEST_CASE("a page with copies is mapped remotely read-only, and its reader gets no copy later") {
  Pages b(spec_of(true, false));
  b.copy_to(1);
  auto p = b.page(7, 2, Transition::map_remotely);
  p.confirms = 1;
  auto const number = b.begin(p);
  CHECK(b.run(number) == Words{"map remote gpu0:0 read-only"});
  CHECK(b.acknowledged(number) == Words{"ended"});
  CHECK(b.memory.may_read_remotely(7, 2));
  CHECK_FALSE(b.memory.may_read_remotely(7, 1));
}

TEST_CASE("the GPU whose page is announced or protected maps it again, unless its own fault is answered") {
  auto const writers = [](Transition transition, std::uint64_t page, DeviceId gpu, bool answers) {
    Pages b(spec_of(true, false));
    if (transition == Transition::evict) b.copy_to(1);
    b.writers.clear();
    auto p = b.page(page, gpu, transition);
    p.answers = answers ? 1 : 0;
    auto const number = b.begin(p);
    b.run(number);
    b.acknowledged(number);
    if (b.executor[number].in_use != 0) b.copied(number);
    return b.writers;
  };
  CHECK(writers(Transition::move, 7, 2, true).empty());
  CHECK(writers(Transition::move, 7, 2, false) == Words{"gpu2"});
  CHECK(writers(Transition::duplicate, 7, 2, true) == Words{"gpu0"});
  CHECK(writers(Transition::evict, 7, 0, false) == Words{"gpu1"});  // to the copy
  // A full GPU: the page keeps its frame on GPU 0.
  Pages full(spec_of(false, false));
  for (std::uint64_t i = 0; i < 4; ++i) full.memory.take(30 + i, 0, 2);
  auto p = full.page(7, 2, Transition::move);
  p.answers = 1;
  auto const number = full.begin(p);
  full.run(number);
  CHECK(full.acknowledged(number).back() == "ended");
  CHECK(full.writers == Words{"gpu0"});
}

TEST_CASE("a copy of a batch is confirmed read-only on its GPU") {
  Pages b(spec_of(true, false));
  auto p = b.page(7, 1, Transition::duplicate);
  p.confirms = 1;
  auto const number = b.begin(p);
  b.run(number);
  b.acknowledged(number);
  CHECK(b.copied(number) ==
        Words{"changed to gpu1:0", "remap gpu0:0 read-only", "map copy gpu1:0 read-only"});
  CHECK(b.acknowledged(number) == Words{"ended"});
}

TEST_CASE("a collapse drops the copies of others, the latest first, and the writer's copy becomes the page") {
  Pages b(spec_of(true, false));
  b.copy_to(1);
  b.copy_to(2);
  auto const number = b.begin(b.page(7, 1, Transition::collapse));
  CHECK(b.run(number) == Words{"unmap gpu0:0"});
  CHECK(b.acknowledged(number) == Words{"left gpu2", "changed to gpu1:0", "remap gpu1:0", "ended"});
  CHECK(b.memory.home(7) == PageTranslation{physical(1, 0)});
  CHECK_FALSE(b.memory.is_shared(7));
  CHECK(b.free_frames() == Pages::Frames{4, 3, 4, 7});
}

TEST_CASE("a collapse by the home keeps its frame, and by a GPU without a copy migrates") {
  for (DeviceId const writer : {DeviceId{0}, DeviceId{2}}) {
    CAPTURE(writer);
    Pages b(spec_of(true, false));
    b.copy_to(1);
    auto const number = b.begin(b.page(7, writer, Transition::collapse));
    b.run(number);
    if (writer == 0) {
      CHECK(b.acknowledged(number) == Words{"left gpu1", "changed to gpu0:0", "remap gpu0:0", "ended"});
      CHECK(b.free_frames() == Pages::Frames{3, 4, 4, 7});
    } else {
      CHECK(b.acknowledged(number) == Words{"left gpu1", "copy gpu0:0 to gpu2:0"});
      CHECK(b.copied(number) == Words{"changed to gpu2:0", "remap gpu2:0", "ended"});
      CHECK(b.free_frames() == Pages::Frames{4, 4, 3, 7});
    }
  }
}

TEST_CASE("a collapse waits for consent after its copies were dropped") {
  Pages b(spec_of(true, false));
  b.copy_to(1);
  auto p = b.page(7, 2, Transition::collapse);
  p.consents = 1;
  auto const number = b.begin(p);
  b.run(number);
  CHECK(b.acknowledged(number) == Words{"left gpu1", "consent"});
  CHECK(b.admitted(number) == Words{"copy gpu0:0 to gpu2:0"});
}

TEST_CASE("an evicted page goes to the host, by a copy unless its contents are there") {
  for (bool const clean : {false, true}) {
    CAPTURE(clean);
    Pages b(spec_of(false, false));
    auto p = b.page(7, 0, Transition::evict);
    p.consents = 1;
    auto const number = b.begin(p);
    CHECK(b.run(number) == Words{"unmap gpu0:0"});
    CHECK(b.acknowledged(number) == Words{"consent"});
    Words const end{"changed to cpu0:1", "remap cpu0:1", "ended"};
    if (clean) {
      CHECK(b.admitted(number, true) == end);
    } else {
      CHECK(b.admitted(number) == Words{"copy gpu0:0 to cpu0:1"});
      CHECK(b.copied(number) == end);
    }
    CHECK(b.memory.state_of(7) == PageState::hosted);
    CHECK(b.free_frames() == Pages::Frames{4, 4, 4, 6});
  }
}

TEST_CASE("an evicted home passes to its latest copy and stays read-only while another copy is left") {
  Pages b(spec_of(true, false));
  b.copy_to(1);
  b.copy_to(2);
  for (DeviceId const evicting : {DeviceId{0}, DeviceId{2}}) {
    CAPTURE(evicting);
    auto p = b.page(7, evicting, Transition::evict);
    p.consents = 1;
    auto const number = b.begin(p);
    b.run(number);
    b.acknowledged(number);
    if (evicting == 0)
      CHECK(b.admitted(number) == Words{"changed to gpu2:0", "remap gpu2:0 read-only", "ended"});
    else
      CHECK(b.admitted(number) == Words{"changed to gpu1:0", "remap gpu1:0", "ended"});
  }
  CHECK(b.memory.state_of(7) == PageState::resident);
  CHECK(b.free_frames() == Pages::Frames{4, 3, 4, 7});
}

TEST_CASE("an evicted copy is dropped on its GPU only, and the page stays read-only") {
  Pages b(spec_of(true, true));
  b.copy_to(1);
  auto p = b.page(7, 1, Transition::evict_copy);
  p.from = physical(1, 0);
  p.consents = 1;
  auto const number = b.begin(p);
  CHECK(b.run(number) == Words{"drop gpu1:0"});
  CHECK(b.acknowledged(number) == Words{"flush gpu1:0"});
  CHECK(b.acknowledged(number) == Words{"consent"});
  CHECK(b.memory.is_on(7, 1));
  CHECK(b.admitted(number) == Words{"ended"});
  CHECK_FALSE(b.memory.is_on(7, 1));
  CHECK(b.memory.state_of(7) == PageState::shared);
  CHECK(b.free_frames() == Pages::Frames{3, 4, 4, 7});
}

TEST_CASE("an allocated page is mapped everywhere before it enters the driver's table") {
  Pages b(spec_of(false, false));
  auto p = b.page(9, 2, Transition::allocate);
  p.to = b.memory.take(9, 0, 2).frame;
  p.confirms = 1;
  auto const number = b.begin(p);
  CHECK(b.run(number) == Words{"map gpu2:0"});
  CHECK_FALSE(b.memory.home(9));
  CHECK(b.acknowledged(number) == Words{"changed to gpu2:0", "ended"});
  CHECK(b.memory.home(9) == PageTranslation{physical(2, 0)});
}

TEST_CASE("a freed page is forgotten and flushed everywhere before its frame is free") {
  Pages b(spec_of(false, true));
  auto const number = b.begin(b.page(7, 0, Transition::free));
  CHECK(b.run(number) == Words{"forget gpu0:0"});
  CHECK(b.acknowledged(number) == Words{"flush gpu0:0"});
  CHECK(b.memory.home(7));
  CHECK(b.free_frames() == Pages::Frames{3, 4, 4, 7});
  CHECK(b.acknowledged(number) == Words{"ended"});
  CHECK_FALSE(b.memory.home(7));
  CHECK(b.free_frames() == Pages::Frames{4, 4, 4, 7});
}

TEST_CASE("a program's copy changes neither table nor frames") {
  Pages b(spec_of(false, true));
  auto p = b.page(7, 0, Transition::transfer);
  p.from = physical(0, 64);
  p.to = physical(kFirstCpu, 64);
  auto const number = b.begin(p);
  CHECK(b.run(number) == Words{"copy gpu0:0 to cpu0:0"});
  CHECK(b.copied(number) == Words{"ended"});
  CHECK(b.memory.home(7) == PageTranslation{physical(0, 0)});
  CHECK(b.free_frames() == Pages::Frames{3, 4, 4, 7});
}

TEST_CASE("a relocated page is confirmed in its new frame before the old one is free") {
  Pages b(spec_of(false, false));
  auto p = b.page(7, 0, Transition::relocate);
  p.to = b.memory.take(50, 0, 0).frame;
  p.confirms = 1;
  auto const number = b.begin(p);
  CHECK(b.run(number) == Words{"unmap gpu0:0"});
  CHECK(b.acknowledged(number) == Words{"copy gpu0:0 to gpu0:1"});
  CHECK(b.copied(number) == Words{"map gpu0:1"});
  CHECK(b.free_frames() == Pages::Frames{2, 4, 4, 7});
  CHECK(b.acknowledged(number) == Words{"changed to gpu0:1", "ended"});
  CHECK(b.free_frames() == Pages::Frames{3, 4, 4, 7});
}

TEST_CASE("data without a page is copied, and its old frame or its unused new frame is free") {
  Pages b(spec_of(false, false));
  auto const data = b.memory.take(50, 0, 0).frame;
  auto const room = b.memory.take(51, 0, 0).frame;
  PageInFlight p;
  p.request.page = FrameAllocator::kUnownedPage;
  p.transition = Transition::refill;
  p.from = data;
  p.to = room;
  auto const moved = b.begin(p);
  CHECK(b.run(moved) == Words{"copy gpu0:1 to gpu0:2"});
  CHECK(b.copied(moved) == Words{"ended"});
  CHECK(b.free_frames() == Pages::Frames{2, 4, 4, 7});
  p.transition = Transition::give_back;
  p.from = room;
  p.to = kNoFrame;
  auto const skipped = b.begin(p);
  CHECK(b.run(skipped) == Words{"copy gpu0:2 to none"});
  CHECK(b.copied(skipped) == Words{"ended"});
  CHECK(b.free_frames() == Pages::Frames{3, 4, 4, 7});
}

TEST_CASE("a large page moves, is refused and is evicted whole, whichever base page is requested") {
  for (bool const full : {false, true}) {
    CAPTURE(full);
    auto spec = spec_of(false, true);
    static std::vector<PlacedPage> const placed{{512, 0, 9}};
    PageTable table(0, 12);
    table.map(512, physical(0, 0), 9);
    spec.placed = &placed;
    spec.preloaded = &table;
    spec.frames_per_gpu = 1024;
    spec.frames_of_cpu = 1024;
    Pages b(spec);
    for (std::uint64_t i = 0; full && i < 513; ++i) b.memory.take(3000 + i, 0, 2);
    auto p = b.page(512 + 77, 2, Transition::move);
    p.size = 9;
    auto const number = b.begin(p);
    CHECK(b.run(number) == Words{"unmap gpu0:0"});
    CHECK(b.acknowledged(number) == Words{"flush gpu0:0"});
    if (full) {
      // 511 base frames are free.
      CHECK(b.acknowledged(number) == Words{"refused", "changed to gpu0:0", "remap gpu0:0", "ended"});
      CHECK(b.free_frames() == Pages::Frames{512, 1024, 511, 1024});
      continue;
    }
    CHECK(b.acknowledged(number) == Words{"copy gpu0:0 to gpu2:0"});
    for (std::uint64_t const page : {512U, 589U, 1023U}) {
      CHECK(b.executor.is_in_flight(page));
      CHECK(b.executor.number_of(page) == number);
    }
    CHECK_FALSE(b.executor.is_in_flight(511));
    CHECK_FALSE(b.executor.is_in_flight(1024));
    CHECK(b.copied(number) == Words{"changed to gpu2:0", "remap gpu2:0", "ended"});
    CHECK(b.memory.home(1023) == PageTranslation{physical(2, 0), 9});
    CHECK(b.free_frames() == Pages::Frames{1024, 1024, 512, 1024});
    auto out = b.page(512, 2, Transition::evict);
    out.size = 9;
    auto const evicted = b.begin(out);
    b.run(evicted);
    b.acknowledged(evicted);
    CHECK(b.acknowledged(evicted) == Words{"copy gpu2:0 to cpu0:0"});
    CHECK(b.copied(evicted) == Words{"changed to cpu0:0", "remap cpu0:0", "ended"});
    CHECK(b.memory.home(600) == PageTranslation{physical(kFirstCpu, 0), 9});
    CHECK(b.free_frames() == Pages::Frames{1024, 1024, 1024, 512});
    CHECK_FALSE(b.executor.is_in_flight(600));
  }
}

TEST_CASE("a page in flight is found by any of its base pages") {
  for (bool const batches : {true, false}) {
    CAPTURE(batches);
    Pages b(spec_of(false, false, batches));
    auto p = b.page(512, 1, Transition::allocate);
    p.size = 9;
    p.to = physical(1, 0);
    p.confirms = 1;
    auto const number = b.begin(p);
    b.run(number);
    CHECK(b.executor.is_in_flight(512));
    CHECK(b.executor.is_in_flight(513));
    CHECK(b.executor.is_in_flight(1023));
    CHECK_FALSE(b.executor.is_in_flight(1024));
    CHECK_FALSE(b.executor.is_in_flight(511));
    for (std::uint64_t const page : {512U, 513U, 1023U}) CHECK(b.executor.number_of(page) == number);
    b.acknowledged(number);
    CHECK_FALSE(b.executor.is_in_flight(512));
  }
}

TEST_CASE("numbers are taken in the order in which they were last returned") {
  Pages b(spec_of(false, false));
  auto const first = b.begin(b.page(20, 1, Transition::transfer));
  auto const second = b.begin(b.page(21, 1, Transition::transfer));
  CHECK(first == 0);
  CHECK(second == 1);
  b.executor.finish(first);
  CHECK(b.begin(b.page(22, 1, Transition::transfer)) == 0);
  CHECK(b.begin(b.page(23, 1, Transition::transfer)) == 2);
  CHECK(b.executor.in_flight() == 3);
}

TEST_CASE("each step that is taken is counted once, and a skipped one never") {
  Pages b(spec_of(false, true));
  auto const number = b.begin(b.page(7, 2, Transition::move));
  b.run(number);
  b.acknowledged(number);
  b.acknowledged(number);
  b.copied(number);
  auto const& taken = b.executor.taken();
  for (std::size_t i = 0; i < kPageSteps; ++i) {
    auto const step = static_cast<PageStep>(i);
    bool const skipped = step == PageStep::consent || step == PageStep::confirm || step == PageStep::answer;
    CAPTURE(i);
    CHECK(taken[i] == (takes(Transition::move, step) && !skipped ? 1 : 0));
  }
}

TEST_CASE("a saved executor continues in the middle of each transition as the original does") {
  for (bool const flushes : {false, true}) {
    Pages b(spec_of(true, flushes));
    b.copy_to(1);
    std::vector<PageInFlight> changes;
    for (auto const transition : {Transition::copy_again, Transition::collapse, Transition::evict}) {
      auto p = b.page(7, 2, transition);
      p.consents = p.confirms = p.answers = 1;
      changes.push_back(p);
    }
    for (auto const& change : changes) {
      CAPTURE(row_of(change.transition).name);
      // Follows the original, which has both counted and begun alike, from every point at which it waits.
      for (int at = 0; at < 6; ++at) {
        Pages original(spec_of(true, flushes));
        original.copy_to(1);
        auto const number = original.begin(change);
        auto const go_on = [number](Pages& pages) {
          auto const& p = pages.executor[number];
          if (p.in_use == 0) return Words{"over"};
          if (p.awaits_iommus()) return pages.acknowledged(number);
          return p.current() == PageStep::copy ? pages.copied(number) : pages.admitted(number);
        };
        original.run(number);
        for (int i = 0; i < at; ++i) go_on(original);
        Pages resumed(spec_of(true, flushes));
        test::copy_state(original.memory, resumed.memory);
        test::copy_state(original.executor, resumed.executor);
        CHECK(test::hash_of(original.executor) == test::hash_of(resumed.executor));
        for (int i = 0; i < 6; ++i) CHECK(go_on(original) == go_on(resumed));
        CHECK(test::hash_of(original.executor) == test::hash_of(resumed.executor));
        CHECK(test::hash_of(original.memory) == test::hash_of(resumed.memory));
      }
    }
  }
}

TEST_CASE("the wanted state selects the transition from the page's state") {
  CHECK(transition_to(PageGoal::readable, PageState::unmapped) == Transition::first_touch);
  CHECK(transition_to(PageGoal::exclusive, PageState::unmapped) == Transition::first_touch);
  for (auto const from : {PageState::resident, PageState::hosted}) {
    CHECK(transition_to(PageGoal::readable, from) == Transition::duplicate);
    CHECK(transition_to(PageGoal::exclusive, from) == Transition::move);
  }
  CHECK(transition_to(PageGoal::readable, PageState::shared) == Transition::copy_again);
  CHECK(transition_to(PageGoal::exclusive, PageState::shared) == Transition::collapse);
}

TEST_CASE("a row invalidates before it drains, and gives up a frame only after the steps that must precede") {
  for (auto const& row : kTransitions) {
    CAPTURE(row.name);
    auto const at = [&](PageStep step) { return std::ranges::find(row.steps, step) - row.steps.begin(); };
    auto const has = [&](PageStep step) { return takes(row.transition, step); };
    CHECK(has(PageStep::invalidate) == has(PageStep::drain));
    CHECK(has(PageStep::flush) == has(PageStep::drain));
    if (has(PageStep::invalidate)) {
      CHECK(at(PageStep::drain) == at(PageStep::invalidate) + 1);
      CHECK(at(PageStep::flush) == at(PageStep::drain) + 1);
    }
    for (auto const later :
         {PageStep::copy, PageStep::release, PageStep::map, PageStep::unmap, PageStep::drop_copies})
      if (has(later) && has(PageStep::flush)) CHECK(at(PageStep::flush) < at(later));
    if (has(PageStep::copy) && has(PageStep::release)) CHECK(at(PageStep::copy) < at(PageStep::release));
  }
}

}  // namespace transition_executor_test
