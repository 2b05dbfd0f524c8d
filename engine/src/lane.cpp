#include "farfault/engine/lane.hpp"

#include "farfault/engine/component.hpp"

namespace farfault {

std::uint64_t Lane::run(Time horizon, std::uint64_t limit) {
  auto const n = queue.run(
      horizon, limit,
      [this](Event const& e) {
        auto const& receiver = receivers_[e.to];
        last_event = e.when;
        if (recorder_ != nullptr) [[unlikely]] {
          recorder_->begin(e, receiver.component->id());
          receiver.handler(*receiver.component, *this, e);
          recorder_->end();
        } else {
          receiver.handler(*receiver.component, *this, e);
        }
      },
      [this](PortId to) {
        auto const* component = reinterpret_cast<char const*>(receivers_[to].component);
        __builtin_prefetch(component);
        __builtin_prefetch(component + 64);
      });
  handled += n;
  return n;
}

}  // namespace farfault
