// SPDX-License-Identifier: Apache-2.0
// Service of access-counter notifications in the driver (counter_client.hpp): parameters.
#pragma once

#include <cstdint>

#include "farfault/engine/params.hpp"
#include "farfault/protocols/facts.hpp"

namespace farfault {

struct CounterServiceParams {
  std::uint32_t batch = 256;
  Duration interrupt_time = 0ns;
  void describe(ParamTable& t) {
    auto const if_counted = t.only_when(facts::kAccessCounters);
    t.count("batch", batch, {1, 65'536}, "Maximum notifications per service",
            "NVIDIA's driver (uvm_gpu_access_counters.c): 256");
    t.duration("interrupt_time", interrupt_time, {0ns, 1s},
               "Time from a GPU's first notification to the read of its notification buffer. 0: none",
               "assumed");
  }
};

}  // namespace farfault
