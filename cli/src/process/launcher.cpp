// SPDX-License-Identifier: Apache-2.0
#include "launcher.hpp"

#include <fmt/format.h>

#include <cstdlib>

namespace farfault::cli {

std::optional<std::string> missing_mpi(std::uint32_t ranks, Environment const& environment) {
  if (ranks > 1) return std::nullopt;
  auto const copies = [&](char const* name) {
    auto const* const text = environment(name);
    return text == nullptr ? 0 : std::strtoul(text, nullptr, 10);
  };
  for (auto const* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"})
    if (auto const n = copies(name); n > 1)
      return fmt::format(
          "{} copies of this program were started ({}={}), but MPI does not connect them: the program was "
          "built without MPI, or with a different MPI than the launcher's",
          n, name, n);
  // Only tasks of srun have this variable; a batch script that runs one program does not.
  constexpr auto const* kTasks = "SLURM_STEP_NUM_TASKS";
  if (auto const n = copies(kTasks); n > 1)
    return fmt::format(
        "srun started {} copies of this program without MPI: use 'srun --mpi=pmix' or mpirun; for {} "
        "independent runs, unset {}",
        n, n, kTasks);
  return std::nullopt;
}

}  // namespace farfault::cli
