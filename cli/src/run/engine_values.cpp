// SPDX-License-Identifier: Apache-2.0
#include "engine_values.hpp"

#include <fmt/chrono.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <string>

#include "farfault/engine/files.hpp"
#include "farfault/engine/mpi_library.hpp"
#include "farfault_commit.hpp"
#include "process/build_id.hpp"

namespace farfault::cli {

std::string program_commit() {
  return FARFAULT_COMMIT;
}

bool commit_identifies_program(bool extended) {
  return !extended && program_commit().find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::uint64_t program_hash(bool extended) {
  auto const identity = std::string(FARFAULT_VERSION) + " " + program_commit();
  return fnv1a(commit_identifies_program(extended) ? identity : identity + " " + build_id());
}

std::vector<results::EngineValue> start_values(std::uint32_t threads, std::uint32_t ranks,
                                               std::uint64_t thread_blocks, Time from) {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  auto const now = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  return {{"commit", "text", "Commit of the program's source", program_commit()},
          {"build", "text", "Build identifier assigned by the linker; unique per content of the program",
           build_id()},
          {"host", "text", "Name of the host of rank 0", std::string(host.data())},
          {"start_time", "text", "Start date and time of the run, UTC", now},
          {"start_simulated_time", "ps", "Simulated time at which this program started or resumed the run",
           count_of(from)},
          {"thread_blocks", "count", "Thread blocks to execute. 0: unknown", thread_blocks},
          {"threads", "count", "Threads of each rank", std::uint64_t{threads}},
          {"ranks", "count", "MPI ranks", std::uint64_t{ranks}},
          {"mpi_library", "text", "MPI library of the program", mpi_library()}};
}

std::vector<results::EngineValue> work_values(EngineProfile const& profile, double seconds,
                                              std::uint64_t events,
                                              std::vector<std::uint64_t> const& node_messages) {
  return {
      {"wall_time", "s", "Wall-clock time of the simulation", seconds},
      {"events", "count", "Events handled by all ranks", events},
      {"events_per_second", "1/s", "Events handled per second of wall-clock time",
       static_cast<double>(events) / seconds},
      {"rounds", "count", "Rounds of rank 0, with one synchronization each", profile.rounds},
      {"busiest_lane_events", "count",
       "Events of the busiest lane of each round of rank 0, summed; events divided by this value is an upper "
       "bound on the speedup by threads",
       profile.longest_lanes},
      {"lane_events", "count", "Events of each lane of rank 0", profile.lane_events},
      {"rank_exchanges", "count", "Exchanges between ranks", profile.exchanges},
      {"bytes_sent", "bytes", "Bytes sent by rank 0 to other ranks", profile.bytes_sent},
      {"rank_wait_time", "s", "Wall-clock time that rank 0 waited for other ranks", profile.blocked_seconds},
      {"node_messages", "count", "Messages sent by the components of each node of /topology/nodes",
       node_messages}};
}

std::vector<results::EngineValue> density_values(RankDensity const& density) {
  return {{"events_per_exchange", "1", "Events of all ranks per exchange between ranks",
           density.events_per_exchange()},
          {"rank_wait_share", "1", "Average share of the wall-clock time that ranks waited for each other",
           density.waited}};
}

std::vector<results::EngineValue> critical_path_values(PathProfile const& path) {
  std::vector<std::uint64_t> const cores(PathProfile::kCores.begin(), PathProfile::kCores.end());
  std::vector<double> bounds;
  for (auto const t : path.list_schedule)
    bounds.push_back(static_cast<double>(path.events) / static_cast<double>(t));
  return {{"critical_path_events", "count", "Events of the longest chain of dependent events", path.path},
          {"component_critical_path_events", "count",
           "Events of the longest chain if every component were a partition", path.component_path},
          {"critical_path_host_time", "ns", "Host time of the event handlers on the slowest chain",
           path.host_path_ns},
          {"host_time", "ns", "Host time of all event handlers", path.host_ns},
          {"busiest_partition_events", "count", "Events of the partition with the most events", path.busiest},
          {"speedup_cores", "count", "Numbers of cores of the values of speedup", cores},
          {"speedup", "1", "Speedup of a list schedule without synchronization", bounds}};
}

}  // namespace farfault::cli
