// SPDX-License-Identifier: Apache-2.0
// The kinds of read-only caches of a GPU (compute/read_only_cache.hpp), as its SMs use them.
#pragma once

#include <cstdint>
#include <string>

#include "farfault/compute/read_only_cache.hpp"
#include "farfault/compute/sm.hpp"

namespace farfault::topologies {

struct ReadOnlyCacheKind {
  std::string name;  // of the components; their section is "gpu." and the name
  ReadOnlyCacheParams params;
  std::uint32_t requests_of_sm = 0;  // maximum outstanding requests of an SM
  bool cleared_at_launch = true;
  PageUseRule page_uses;
  Out<ReadOnlyRequest> Sm::*request;  // of an SM
  In<ReadOnlyResponse> Sm::*response;

  std::uint32_t caches(std::uint32_t sms) const { return (sms + params.sms - 1) / params.sms; }
};

}  // namespace farfault::topologies
