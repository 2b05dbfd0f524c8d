// SPDX-License-Identifier: Apache-2.0
// Victims depend only on the seed and the shape of the array: xorshift64* (Vigna, ACM TOMS 42(4), 2016), one
// number per victim. The other policies that draw random numbers use SplitMix64 (parts/split_mix.hpp).
#include "farfault/parts/replacement.hpp"

namespace farfault::replacements {
namespace {

class Random final : public Replacement {
 public:
  struct Params {
    std::uint64_t seed = 1;
    void describe(ParamTable& t) {
      t.count("seed", seed, {1, std::uint64_t{1} << 62}, "Random seed, the same for each array",
              "simulator setting");
    }
  };
  explicit Random(Params const& p) : state_(p.seed) {}

  std::uint32_t victim(View const& set) override {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<std::uint32_t>((state_ * 0x2545F4914F6CDD1DULL >> 32) * set.keys.size() >> 32);
  }
  auto members() { return std::tie(state_); }

 private:
  std::uint64_t state_;
};

}  // namespace

void random(PolicyList<Replacement>& list) {
  list.add<Random>("random", "random entry, by the sequence xorshift64* of a seed");
}

}  // namespace farfault::replacements
