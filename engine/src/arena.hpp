// SPDX-License-Identifier: Apache-2.0
// Private: the threads of a run, from oneTBB's pool.
#pragma once

#include <cstdint>
#include <memory>

namespace farfault {

class Arena {
 public:
  // More threads than cores when they are asked for. Throws RunError where the system does not give them.
  explicit Arena(std::uint32_t threads);
  ~Arena();
  Arena(Arena const&) = delete;
  Arena& operator=(Arena const&) = delete;

  // Calls body(self) once for each thread and returns when all calls have. A thread may make several calls,
  // one after the other: no call may wait for another to begin.
  void call_on_each(void (*body)(void*), void* self);

 private:
  std::uint32_t threads_;
  struct Tbb;
  std::unique_ptr<Tbb> tbb_;
};

}  // namespace farfault
