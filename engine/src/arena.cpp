// SPDX-License-Identifier: Apache-2.0
#include "arena.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "farfault/engine/error.hpp"

#if defined(__SANITIZE_THREAD__)
// oneTBB is not built for ThreadSanitizer, which therefore does not see that it orders a task's creation
// before its execution. Only direct accesses by this file and oneTBB's inline functions are suppressed, not
// the functions that they call.
extern "C" char const* __tsan_default_suppressions();
extern "C" char const* __tsan_default_suppressions() {
  return "race_top:oneapi/tbb\n"
         "race_top:bits/atomic_base.h\n"  // of oneTBB's objects; our own atomic operations do not race
         "race_top:engine/src/arena.cpp\n"
         "called_from_lib:libtbb.so\n";
}
#endif

namespace farfault {

namespace {

// oneTBB ends the program if the system refuses it a thread. The same number of threads is therefore started
// and ended first, concurrently, so that a failure can be reported to the user.
void try_threads(std::uint32_t count) {
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  auto end_all = [&] {
    over.store(true);
    over.notify_all();
    for (auto& t : threads) t.join();
  };
  try {
    threads.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) threads.emplace_back([&over] { over.wait(false); });
  } catch (std::exception const&) {
    auto const started = threads.size();
    end_all();
    throw RunError("the system allows only " + std::to_string(started + 1) + " of the " +
                   std::to_string(count + 1) +
                   " requested threads; reduce --threads, or raise the limits on memory and threads of the "
                   "process");
  }
  end_all();
}

}  // namespace

struct Arena::Tbb {
  explicit Tbb(std::uint32_t threads)
      : control(tbb::global_control::max_allowed_parallelism, threads), arena(static_cast<int>(threads), 1) {}
  tbb::global_control control;
  tbb::task_arena arena;
};

Arena::Arena(std::uint32_t threads) : threads_(threads) {
  try_threads(threads - 1);
  tbb_ = std::make_unique<Tbb>(threads);
}

Arena::~Arena() = default;

void Arena::call_on_each(void (*body)(void*), void* self) {
  tbb_->arena.execute([=, n = threads_] {
    tbb::parallel_for(
        std::uint32_t{0}, n, [=](std::uint32_t) { body(self); }, tbb::simple_partitioner{});
  });
}

}  // namespace farfault
