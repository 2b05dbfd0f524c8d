// SPDX-License-Identifier: Apache-2.0
// Which device each page of an application lies on before the first kernel.
//
// Contract: open() is called first, and reads what files it needs; place() then, once for each application,
// when the machine is built: it places pages of the application's buffers, each once (a large one by any of
// its base pages: ApplicationMemory::each_page), in an order of its own: that in which frames are allocated.
// A page that it leaves out is mapped at its first touch, which is possible only where leaves_out() says so.
// Where the machines of a cluster have a memory each, place() is called for each, with devices in that
// machine's own numbers. Errors: UserError for a file that does not fit.
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
  // Where the file `name`, the value of a parameter ("recorded.map"), is to be opened.
  using PathOf = std::function<std::string(std::string_view parameter, std::string const& name)>;
  struct Input {
    std::string parameter;
    InputFile file;
  };
  static PolicyList<PagePlacement> known();

  virtual ~PagePlacement() = default;
  // Returns the files that it has read.
  virtual std::vector<Input> open(PathOf const& path_of) {
    static_cast<void>(path_of);
    return {};
  }
  virtual void place(ApplicationMemory& memory) const = 0;
  virtual bool leaves_out() const { return false; }
};

extern template class PolicyChoice<PagePlacement>;

}  // namespace farfault
