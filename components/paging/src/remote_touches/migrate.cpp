// SPDX-License-Identifier: Apache-2.0
// A page migrates after `after` consecutive translation requests of one GPU. 1: page migration of GMMU
// Bypass, section 2.2. More: pages that several GPUs use keep their place.
#include "farfault/paging/page_records.hpp"
#include "farfault/paging/remote_touch.hpp"

namespace farfault::remote_touches {
namespace {

class Migrate final : public RemoteTouch {
 public:
  struct Params {
    std::uint32_t after = 1;
    void describe(ParamTable& t) {
      t.count("after", after, {1, 1 << 30},
              "Consecutive translation requests of one GPU for a remote page that trigger its migration",
              "GMMU Bypass (NPC 2020), section 2.2: the first");
    }
  };

  static constexpr Facts facts() { return {.moves_pages = true}; }

  Migrate(Params const& p, Setup const& setup) : params_{p}, touches_(setup.page_bits, setup.spaces) {}

  bool may_move(PhysAddr frame, std::uint32_t gpu) const override { return device_of(frame) != gpu; }
  bool touch(std::uint64_t page, PhysAddr frame, std::uint32_t gpu, Access /*access*/) override {
    if (!may_move(frame, gpu)) return false;
    auto& t = touches_.of(page);
    if (t.gpu != gpu) t.in_a_row = 0;
    t.gpu = gpu;
    return ++t.in_a_row >= params_->after;
  }
  void forget(std::uint64_t page) override { touches_.forget(page); }

  auto members() { return std::tie(params_, unused_, touches_); }

 private:
  struct Touches {
    std::uint32_t gpu = 0;  // GPU that touched it last
    std::uint32_t in_a_row = 0;
  };

  Fixed<Params> params_;
  std::uint32_t unused_ = 0;
  PageRecords<Touches> touches_;
};

}  // namespace

void migrate(PolicyList<RemoteTouch>& list) {
  list.add<Migrate>("migrate", "migration to the GPU that accesses the page");
}

}  // namespace farfault::remote_touches
