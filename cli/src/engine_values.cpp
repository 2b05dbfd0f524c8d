// SPDX-License-Identifier: Apache-2.0
#include "engine_values.hpp"

#include <fmt/chrono.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <string>

#include "build_id.hpp"
#include "farfault/engine/mpi_library.hpp"
#include "farfault_commit.hpp"

namespace farfault::cli {

std::string program_commit() {
  return FARFAULT_COMMIT;
}

std::vector<results::EngineValue> start_values(std::uint32_t threads, std::uint32_t ranks,
                                               std::uint64_t thread_blocks, Time from) {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  auto const now = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  return {
      {"commit", "text", "commit of the program's source", program_commit()},
      {"build", "text", "number that the linker gave the program: one for each content", build_id()},
      {"host", "text", "name of the host of rank 0", std::string(host.data())},
      {"start_time", "text", "date and time at which the run was started, UTC", now},
      {"start_simulated_time", "ps", "simulated time at which this program took the run up", count_of(from)},
      {"thread_blocks", "count", "thread blocks that are to run; 0: not known", thread_blocks},
      {"threads", "count", "threads of each rank", std::uint64_t{threads}},
      {"ranks", "count", "MPI ranks", std::uint64_t{ranks}},
      {"mpi_library", "text", "MPI library of the program", mpi_library()}};
}

std::vector<results::EngineValue> work_values(EngineProfile const& profile, double seconds,
                                              std::uint64_t events,
                                              std::vector<std::uint64_t> const& node_messages) {
  return {
      {"wall_time", "s", "wall-clock time of the simulation", seconds},
      {"events", "count", "events handled by all ranks", events},
      {"events_per_second", "1/s", "events handled per second of wall-clock time",
       static_cast<double>(events) / seconds},
      {"rounds", "count", "rounds of rank 0, with one synchronization each", profile.rounds},
      {"busiest_lane_events", "count",
       "events of the busiest lane of each round of rank 0, summed; events divided by it bounds the "
       "speed-up by threads",
       profile.longest_lanes},
      {"lane_events", "count", "events of each lane of rank 0", profile.lane_events},
      {"rank_exchanges", "count", "exchanges between ranks", profile.exchanges},
      {"bytes_sent", "bytes", "bytes that rank 0 sent to other ranks", profile.bytes_sent},
      {"rank_wait_time", "s", "wall-clock time that rank 0 waited for other ranks", profile.blocked_seconds},
      {"node_messages", "count", "messages sent by the components of each node of /topology/nodes",
       node_messages}};
}

std::vector<results::EngineValue> density_values(RankDensity const& density) {
  return {{"events_per_exchange", "1", "events of all ranks handled per exchange between ranks",
           density.events_per_exchange()},
          {"rank_wait_share", "1",
           "share of the wall-clock time that ranks waited for each other, on average", density.waited}};
}

std::vector<results::EngineValue> critical_path_values(PathProfile const& path) {
  std::vector<std::uint64_t> const cores(PathProfile::kCores.begin(), PathProfile::kCores.end());
  std::vector<double> bounds;
  for (auto const t : path.list_schedule)
    bounds.push_back(static_cast<double>(path.events) / static_cast<double>(t));
  return {{"critical_path_events", "count", "events of the longest chain of dependent events", path.path},
          {"component_critical_path_events", "count", "the same if every component were a partition",
           path.component_path},
          {"critical_path_host_time", "ns", "host time of the event handlers on the slowest chain",
           path.host_path_ns},
          {"host_time", "ns", "host time of all event handlers", path.host_ns},
          {"busiest_partition_events", "count", "events of the partition with the most", path.busiest},
          {"speedup_cores", "count", "numbers of cores to which speedup belongs", cores},
          {"speedup", "1", "speed-up that a list schedule without synchronization reaches", bounds}};
}

}  // namespace farfault::cli
