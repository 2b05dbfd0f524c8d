// SPDX-License-Identifier: Apache-2.0
// The levels of TLBs between the L1 TLBs of a GPU and its GMMU, as data: one table
// [[gpu.translation.level]] each. Without these tables, a GPU has the single L2 TLB of [gpu.l2_tlb].
//
// - A level divides the SMs of a GPU into groups of adjacent SMs. Each group has one TLB, or one per bank; a
//   page has one bank in each group (tlb_banks.hpp). A scalar cache belongs to the group of its first SM.
// - SMs and scalar caches send their misses to the first level, and a level to the next one of the file, or
//   to `next`; the last sends them to the GMMU. All SMs of a group have the same group in the next level.
// - The name of a level is the kind of its components and of their results, and names the table for
// overrides:
//   gpu.translation.level.NAME.KEY.
// - Errors: ConfigErrors for levels that are not such a chain, with their place in the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/engine/config.hpp"
#include "farfault/engine/units.hpp"
#include "farfault/parts/address_hash.hpp"
#include "farfault/translation/l2_tlb.hpp"

namespace farfault::topologies {

struct TlbLevelParams : L2TlbParams {
  std::string name;
  std::uint32_t sms = 0;
  std::uint32_t groups = 0;
  std::uint32_t banks = 1;
  ByteSize interleave{std::uint64_t{2} << 20};
  PolicyChoice<AddressHash> hash{"xor"};
  std::uint32_t request_latency = 4;
  std::uint32_t far_latency = 0;
  PolicyChoice<TlbBalance> balance{"fixed"};
  bool is_balanced() const { return far_latency != 0 && balance.facts().switches; }
  std::string next;
  void describe(ParamTable& t);

  std::string section() const;
  // Groups into which the level divides the SMs of a GPU, at least one.
  std::uint32_t groups_of(std::uint32_t gpu_sms) const;
  // False if it is one TLB on every GPU.
  bool may_be_several() const { return sms != 0 || groups > 1 || banks > 1; }
  // The group of an SM; groups_of() or more: none.
  std::uint32_t group_of(std::uint32_t sm, std::uint32_t gpu_sms) const;
};

class TranslationLevels {
 public:
  static constexpr std::string_view kSection = "gpu.translation.level";
  static constexpr std::string_view kGmmu = "gmmu";
  static constexpr std::uint32_t kMax = 8;              // levels
  static constexpr std::uint32_t kMaxTlbs = 1U << 16U;  // of a level in a GPU: their numbers have 16 bits

  // Names the tables of the configuration, for binding; reports invalid names and a [gpu.l2_tlb] next to
  // them.
  void read_names(Config& config);
  // The tables, in their order; empty: the GPU has one L2 TLB.
  std::vector<TlbLevelParams>& listed() { return listed_; }
  std::vector<TlbLevelParams> const& listed() const { return listed_; }
  // From the SMs to the GMMU. Requires check().
  std::vector<TlbLevelParams const*> chain() const;
  // Reports levels that do not form a chain, and banks that would share a large page.
  void check(Config& config, ByteSize page, ByteSize largest_page) const;
  // Reports groups that do not fit the SMs of a GPU, or banks that do not fit its partitions; requires that
  // check() has found no mistake.
  void fit_to(std::uint32_t gpu_sms, std::uint32_t partitions, Config& config) const;

 private:
  TlbLevelParams const* find(std::string_view name) const;
  // The level that gets the misses of `level`; null: the GMMU, or an unknown name.
  TlbLevelParams const* after(TlbLevelParams const& level) const;

  std::vector<TlbLevelParams> listed_;
};

}  // namespace farfault::topologies
