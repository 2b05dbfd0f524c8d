// SPDX-License-Identifier: Apache-2.0
#include "host.hpp"

#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <thread>

namespace farfault {

namespace {

std::uint32_t first_of(std::initializer_list<char const*> variables, std::uint32_t otherwise) {
  for (auto const* name : variables)
    if (auto const* value = std::getenv(name))
      return static_cast<std::uint32_t>(std::strtoul(value, nullptr, 10));
  return otherwise;
}

}  // namespace

std::uint32_t cores_of_process() {
#ifdef __linux__
  cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof cores, &cores) == 0) return static_cast<std::uint32_t>(CPU_COUNT(&cores));
#endif
  return std::max(1U, std::thread::hardware_concurrency());
}

std::uint32_t ranks_on_host() {
  return std::max(1U, first_of({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}, 1));
}

std::uint32_t rank_on_host() {
  return first_of({"OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "MPI_LOCALRANKID"}, 0);
}

}  // namespace farfault
