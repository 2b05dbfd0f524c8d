// SPDX-License-Identifier: Apache-2.0
// Limits on the size described by an input: a file of a kilobyte can represent gigabytes.
//
// Guarantee: a limit only decides whether an input is read or refused; no result depends on it.
// A limit of 0 is a share of the memory that this process may use, so that a resolved configuration
// reads the same on every machine. Errors: the code that applies a limit throws UserError with the
// parameter's name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/engine/params.hpp"

namespace farfault {

struct InputLimits {
  static constexpr std::uint64_t kMaxNodes = 1'000'000;
  static constexpr std::uint64_t kMaxLinks = 4'000'000;
  static constexpr std::uint64_t kMaxVertices = 0xffff'ffff;
  static constexpr std::uint64_t kMaxEdges = 4'000'000'000;
  static constexpr ByteSize kMaxBytes{std::uint64_t{1} << 50};

  ByteSize names{0};
  std::uint64_t nodes = 0;
  std::uint64_t links = 0;
  std::uint64_t vertices = 0;
  std::uint64_t edges = 0;
  ByteSize unpacked{0};
  ByteSize model{0};

  void describe(ParamTable& t);

  // With each 0 replaced by its share of `memory`.
  InputLimits of_memory(ByteSize memory) const;
  InputLimits of_this_machine() const;
};

// Memory available to this process under physical memory, its own limits and its control group.
ByteSize usable_memory();
// The files with the memory limits of the control groups named in /proc/self/cgroup, inner ones
// first.
std::vector<std::string> cgroup_limit_files(std::string_view groups);

// The end of a message: "limits.edges (now 1000); --set limits.edges=N raises it". The value may be set or a
// share of the memory.
std::string limit_text(std::string const& name, std::uint64_t value);
std::string limit_text(std::string const& name, ByteSize value);

}  // namespace farfault
