// SPDX-License-Identifier: Apache-2.0
// Records the start and end of a host's kernels, by observing the host after each of its events.
#pragma once

#include <cstdint>
#include <vector>

#include "farfault/compute/host.hpp"
#include "farfault/engine/observer.hpp"

namespace farfault {

struct KernelSpan {
  Time launched{};
  Time finished = Time::max();  // max: still running
  ComponentId host = 0;
  std::uint32_t kernel = 0;  // over all applications
  std::uint32_t launch = 0;  // of its application
  std::uint32_t stream = 0;  // over all applications
};

class KernelWatch final : public Observer {
 public:
  // Starts now; includes running kernels.
  explicit KernelWatch(Host const& host);

  void before(Event const&) override {}
  void after(Event const& e) override { look(e.when); }

  std::vector<KernelSpan> const& spans() const { return spans_; }

 private:
  static constexpr std::uint32_t kNone = ~0U;
  void look(Time now);

  Host const& host_;
  std::vector<std::vector<Operation>> of_stream_;
  std::vector<std::uint32_t> running_;  // by stream: index into spans_, or kNone
  std::vector<KernelSpan> spans_;
};

}  // namespace farfault
