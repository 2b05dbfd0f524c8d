#include "workers.hpp"

#include <utility>

#include "affinity.hpp"
#include "arena.hpp"
#include "farfault/engine/error.hpp"
#include "host.hpp"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace farfault {

namespace {

// About 50 us: longer than most rounds, shorter than a scheduler's time slice.
constexpr int kSpins = 2000;

void pause_a_moment() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#endif
}

// Ends the leader's work when a task has failed; the failure itself is kept apart.
struct Over {};

}  // namespace

Workers::Workers(std::uint32_t threads, std::uint32_t tasks, bool bind)
    : threads_(threads),
      tasks_(tasks),
      crowded_(std::uint64_t{threads} * ranks_on_host() > cores_of_process()),
      spins_(crowded_ ? 0 : kSpins),
      claims_(tasks),
      affinity_(bind ? std::make_unique<Affinity>(threads) : nullptr) {
  if (threads_ > 1) arena_ = std::make_unique<Arena>(threads_);
}

Workers::~Workers() = default;

void Workers::run(std::function<void()> const& lead) {
  lead_ = &lead;
  over_.store(false);
  gone_.store(0);
  members_.store(0);
  if (arena_)
    arena_->call_on_each([](void* self) { static_cast<Workers*>(self)->join(); }, this);
  else
    join();
  FF_CHECK(gone_.load() == threads_, "a member of the crew is missing");
  failed_.store(false);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

// A thread of oneTBB, or the caller's, takes part in a run.
void Workers::join() {
  // Whoever comes first leads, so that the run never waits for a thread that is not there.
  auto const member = members_.fetch_add(1);
  bool const bound = affinity_ && affinity_->bind(member);
  if (member == 0) {
    try {
      (*lead_)();
    } catch (Over const&) {
    } catch (...) {
      keep_failure();
    }
    over_.store(true);
    ring();
  } else {
    help(member);
  }
  if (bound) affinity_->release();
  gone_.fetch_add(1);
}

void Workers::help(std::uint32_t member) {
  std::uint64_t seen = 0;
  int spins = 0;
  while (!over_.load(std::memory_order_acquire)) {
    auto const round = round_.load(std::memory_order_acquire);
    if (round != seen) {
      seen = round;
      spins = 0;
      work(member, round);
    } else if (spins < spins_) {
      ++spins;
      pause_a_moment();
    } else {
      sleep(seen);
      spins = 0;
    }
  }
}

// The leader stores a round and then looks for sleepers, a sleeper announces itself and then looks for a
// round: one of them sees the other.
void Workers::sleep(std::uint64_t seen) {
  auto const bell = bell_.load();
  sleepers_.fetch_add(1);
  if (round_.load() == seen && !over_.load()) bell_.wait(bell);
  sleepers_.fetch_sub(1);
}

void Workers::ring() {
  if (sleepers_.load() == 0) return;
  bell_.fetch_add(1);
  bell_.notify_all();
}

// The first of a run is what it ends with.
void Workers::keep_failure() {
  if (!failed_.exchange(true)) failure_ = std::current_exception();
}

void Workers::work(std::uint32_t member, std::uint64_t round) {
  auto const first = static_cast<std::uint32_t>(std::uint64_t{member} * tasks_ / threads_);
  for (std::uint32_t i = 0; i < tasks_; ++i) {
    auto const t = first + i < tasks_ ? first + i : first + i - tasks_;
    auto last = claims_[t].round.load(std::memory_order_acquire);
    // Every task is taken in every round, so a claim older than `round` can only belong to the round before,
    // and a helper that comes late finds only newer ones.
    if (last < round && claims_[t].round.compare_exchange_strong(last, round, std::memory_order_acq_rel)) {
      try {
        (*task_)(t);
      } catch (...) {
        keep_failure();
      }
      if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) left_.notify_one();
    }
  }
}

void Workers::round(std::function<void(std::uint32_t)> const& task) {
  task_ = &task;
  left_.store(tasks_, std::memory_order_relaxed);
  auto const number = round_.load(std::memory_order_relaxed) + 1;
  round_.store(number);
  ring();
  work(0, number);
  for (int spins = 0; spins < spins_ && left_.load(std::memory_order_acquire) != 0; ++spins) pause_a_moment();
  for (auto left = left_.load(std::memory_order_acquire); left != 0;) {
    left_.wait(left, std::memory_order_acquire);
    left = left_.load(std::memory_order_acquire);
  }
  if (failed_.load()) throw Over{};
}

}  // namespace farfault
