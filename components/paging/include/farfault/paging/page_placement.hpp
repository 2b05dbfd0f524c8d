// SPDX-License-Identifier: Apache-2.0
// Policy for page placement: the device of each page of an application before the first kernel.
//
// - open() is called first and reads the policy's files.
// - place() is called once per application when the machine is built. It places each page of the
//   application's buffers at most once (a large page by any of its base pages: ApplicationMemory::each_page),
//   in an order that it selects: frames are allocated in this order.
// - Pages that it does not place are mapped at their first touch; permitted only if `leaves_out`.
// - In a cluster with one memory per machine, place() is called for each machine, with that machine's device
//   numbers.
// - Errors: UserError for a file that does not match.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/engine/policy.hpp"
#include "farfault/protocols/workload.hpp"

namespace farfault {

class ApplicationMemory;

class PagePlacement {
 public:
  using Interface = PagePlacement;
  struct Setup {};
  // Path of the file `name`, which is the value of a parameter ("recorded.map").
  using PathOf = std::function<std::string(std::string_view parameter, std::string const& name)>;
  struct Input {
    std::string parameter;
    InputFile file;
  };
  struct Facts {
    bool leaves_out = false;
  };
  static PolicyList<PagePlacement> known();

  virtual ~PagePlacement() = default;
  // Returns the files that it has read.
  virtual std::vector<Input> open(PathOf const& path_of) {
    static_cast<void>(path_of);
    return {};
  }
  virtual void place(ApplicationMemory& memory) const = 0;
};

extern template class PolicyChoice<PagePlacement>;

}  // namespace farfault
