// SPDX-License-Identifier: Apache-2.0
// Private: the threads of a run, from oneTBB's pool.
#pragma once

#include <cstdint>
#include <memory>

namespace farfault {

class Arena {
 public:
  // May have more threads than cores. Throws RunError if the system refuses them.
  explicit Arena(std::uint32_t threads);
  ~Arena();
  Arena(Arena const&) = delete;
  Arena& operator=(Arena const&) = delete;

  // Calls body(self) once per thread and returns when all calls have. A thread may make several calls,
  // one after the other: a call must not wait for another to begin.
  void call_on_each(void (*body)(void*), void* self);

 private:
  std::uint32_t threads_;
  struct Tbb;
  std::unique_ptr<Tbb> tbb_;
};

}  // namespace farfault
