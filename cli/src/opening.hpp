// Private: how large a run is, told before anything expensive begins.
#pragma once

#include <cstdint>
#include <string>

namespace farfault::cli {

struct Model;

// Two lines of at most 80 columns, each with a line end: the machine; what runs on it, and on how many ranks
// and threads. The model needs its workload, and not its components.
std::string opening_text(Model const& model, std::uint32_t ranks, std::uint32_t threads);

}  // namespace farfault::cli
