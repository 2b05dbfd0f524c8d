// SPDX-License-Identifier: Apache-2.0
// Levels of TLBs between the SMs of a GPU and its GMMU: creation and connection.
#include <utility>

#include "assembly_devices.hpp"
#include "tlb_level.hpp"

namespace farfault::topologies {

Assembly::TlbLevel::TlbLevel(TlbLevelParams level, Shape const& shape,
                             std::vector<std::uint32_t> const& first_sms, TlbLevel const* below)
    : params_(std::move(level)),
      shape_(shape),
      below_(below),
      banks_below_(below == nullptr ? TlbBanks{} : below->banks()),
      first_sm_of_member_(first_sms) {
  auto const gpu_sms = shape.sms;
  auto const block = params_.banks == 1 ? 1 : params_.interleave.bytes >> shape.page_bits;
  AddressHash::Mask const mask = params_.hash.facts().mask;
  if (params_.banks > 1 && mask != nullptr) hash_.emplace(mask, params_.banks, block);
  banks_ = TlbBanks(params_.banks, block, hash_ ? &*hash_ : nullptr);
  if (params_.is_balanced()) {
    page_hash_.emplace(PolicyChoice<AddressHash>("xor").facts().mask, params_.banks, shape.largest_page);
    balanced_ = TlbBanks(params_.banks, shape.largest_page, &*page_hash_);
  }
  members_.resize(params_.groups_of(gpu_sms));
  for (std::uint32_t sm = 0; sm < gpu_sms; ++sm)
    if (params_.group_of(sm, gpu_sms) == first_sm_.size()) first_sm_.push_back(sm);
  for (auto const sm : first_sms) {
    auto const group = params_.group_of(sm, gpu_sms);
    member_.push_back({group, static_cast<std::uint32_t>(members_[group].size())});
    members_[group].push_back(static_cast<std::uint32_t>(member_.size() - 1));
  }
}

std::vector<Duration> Assembly::TlbLevel::to_requesters(std::uint32_t group, std::uint32_t bank) const {
  if (!is_spread()) return {};
  std::vector<Duration> all;
  for (auto const member : members_[group])
    for (std::uint32_t b = 0; b < banks_below_.count(); ++b)
      all.push_back(hop_from(partition_of_requester(member, b)).to(bank));
  return all;
}

std::string Assembly::TlbLevel::name(std::uint32_t group, std::uint32_t bank) const {
  auto name = params_.name;
  if (groups() > 1) name += std::to_string(group);
  if (banks_.count() > 1) name += (groups() > 1 ? "_" : "") + std::to_string(bank);
  return name;
}

void Assembly::plan_translation() {
  std::vector<std::uint32_t> first_sms;
  for (std::uint32_t sm = 0; sm < sms_; ++sm) first_sms.push_back(sm);
  for (auto const& kind : read_only_)
    for (std::uint32_t c = 0; c < kind.caches(sms_); ++c) first_sms.push_back(c * kind.params.sms);
  TlbLevel::Shape const shape{.sms = sms_,
                              .partitions = config_.l2_cache.parts().count,
                              .page_bits = page_bits_,
                              .largest_page = std::uint64_t{1} << config_.memory.large_size(),
                              .clock = gpu_clock()};
  TlbLevel const* below = nullptr;
  for (auto& level : config_.tlb_levels()) {
    tlb_levels_.push_back(std::make_unique<TlbLevel>(std::move(level), shape, first_sms, below));
    below = tlb_levels_.back().get();
    first_sms = below->first_sms();
  }
}

TlbRoute Assembly::route_of_client(std::uint32_t client) const {
  return tlb_levels_[0]->route(client);
}

TlbGroups Assembly::last_tlbs() const {
  return {tlb_levels_.back()->groups(), tlb_levels_.back()->banks()};
}

void Assembly::build_tlbs(Gpu& gpu, std::uint32_t channels) {
  auto requests = config_.l1_tlb.outstanding();
  for (auto const& kind : read_only_) requests = std::max(requests, kind.params.tlb_mshrs);
  for (std::uint32_t l = 0; l < tlb_levels_.size(); ++l) {
    auto const& level = *tlb_levels_[l];
    auto const* const above = l + 1 < tlb_levels_.size() ? tlb_levels_[l + 1].get() : nullptr;
    auto& tlbs = gpu.tlbs.emplace_back();
    for (std::uint32_t group = 0; group < level.groups(); ++group) {
      // The TLBs of a part of the SMs stay with the SMs.
      auto const first = level.first_sm(group);
      if (level.groups() > 1) begin_group(gpu.node, (first - first % sms_together()) * kSmGroups / sms_);
      for (std::uint32_t bank = 0; bank < level.banks().count(); ++bank) {
        L2TlbSpec tlb;
        tlb.params = level.params();
        tlb.kind = level.params().name;
        tlb.section = config_.translation.listed().empty() ? "gpu.l2_tlb" : level.params().section();
        tlb.clock = gpu_clock();
        tlb.requesters = level.requesters(group);
        tlb.requests_each = requests;
        tlb.level = l;
        tlb.group = group;
        tlb.banks = level.banks();
        tlb.bank = bank;
        tlb.to_requester = level.to_requesters(group, bank);
        if (above != nullptr)
          tlb.next = above->route(group, bank);
        else
          tlb.next.from = static_cast<std::uint16_t>(group * level.banks().count() + bank);
        if (level.params().is_balanced()) tlb.balance_epoch = level.params().balance.make({})->epoch();
        tlb.moves = config_.driver.migrations;
        tlb.page_bits = page_bits_;
        tlb.page_sizes = config_.memory.sizes_of_pages();
        tlb.applications = applications_.names();
        tlb.reports_faults = config_.in_batches() && l == 0;
        tlb.mapped_at_start = &mapped_for(gpu);
        tlb.sms = sms_by_application();
        tlb.pressure_epoch = config_.pressure_epoch();
        tlb.channels = channels;
        tlbs.push_back(&system_->add<L2Tlb>(gpu_name(gpu) + "." + level.name(group, bank), tlb));
      }
    }
    requests = level.params().mshrs;
    if (level.groups() > 1) begin_group(gpu.node, kTranslationGroup);
  }
  auto const& first = *tlb_levels_[0];
  if (!first.params().is_balanced()) return;
  gpu.balancer = &system_->add<TlbBalancer>(gpu_name(gpu) + "." + first.params().name + "_balancer",
                                            {.policy = first.params().balance,
                                             .section = first.params().section(),
                                             .banks = first.banks().count(),
                                             .clients = first.requesters(0).count()});
}

namespace {

// An SM, a read-only cache, or a TLB, as a requester of a level.
struct Requester {
  Out<TranslateRequest>* miss;
  Out<Invalidated>* acknowledge;
  In<TranslateResponse> filled;
  In<Invalidate> invalidate;
};

}  // namespace

// The balancer of the first level, in the GPU's first partition: near the dispatcher, and `far_latency` away
// from banks and clients.
void Assembly::wire_balancer(Gpu& gpu) {
  auto& system = *system_;
  auto const& level = tlb_levels_[0]->params();
  Latency const near{gpu_clock().cycles(level.request_latency)};
  Latency const far{gpu_clock().cycles(std::uint64_t{level.request_latency} + level.far_latency)};
  std::vector<In<Tick>> banks;
  for (auto* tlb : gpu.tlbs[0]) {
    banks.push_back(tlb->collect);
    system.connect(tlb->counts, gpu.balancer->counted, far);
  }
  system.connect(gpu.balancer->collect, system.family(banks), far);
  std::vector<In<TlbDistribution>> clients;
  for (auto* sm : gpu.sms) clients.push_back(sm->distributed);
  for (auto const& kind : gpu.read_only)
    for (auto* cache : kind.caches) clients.push_back(cache->distributed);
  system.connect(gpu.balancer->distribute, system.family(clients), far);
  system.connect(gpu.dispatcher->launched, gpu.balancer->launched, near);
}

void Assembly::wire_tlbs(Gpu& gpu) {
  auto& system = *system_;
  auto const cycles = [this](std::uint64_t number) { return Latency{gpu_clock().cycles(number)}; };
  std::vector<Requester> requesters;
  for (auto* sm : gpu.sms)
    requesters.push_back({&sm->translate, &sm->invalidated, sm->translation, sm->invalidate});
  for (auto const& kind : gpu.read_only)
    for (auto* cache : kind.caches)
      requesters.push_back({&cache->translate, &cache->invalidated, cache->translation, cache->invalidate});
  std::uint64_t to_gmmu = config_.gpu.translation_latency;  // from the first level
  for (std::uint32_t l = 0; l < tlb_levels_.size(); ++l) {
    auto const& level = *tlb_levels_[l];
    auto const banks = level.banks().count();
    auto const latency = cycles(level.params().request_latency);
    if (l != 0) to_gmmu += level.params().request_latency;
    std::vector<Requester> tlbs;
    for (std::uint32_t group = 0; group < level.groups(); ++group) {
      std::vector<In<TranslateRequest>> requests;
      std::vector<In<Invalidated>> invalidated;
      for (std::uint32_t bank = 0; bank < banks; ++bank) {
        auto* tlb = gpu.tlbs[l][group * banks + bank];
        requests.push_back(tlb->request);
        invalidated.push_back(tlb->invalidated);
        tlbs.push_back({&tlb->miss, &tlb->acknowledge, tlb->filled, tlb->invalidate});
      }
      auto const to_banks = system.family(requests);
      auto const acknowledgements = system.family(invalidated);
      std::vector<In<TranslateResponse>> responses;
      std::vector<In<Invalidate>> invalidates;
      auto const of_member = level.requesters(group).banks.count();
      for (auto const member : level.members(group))
        for (auto r = member * of_member; r < (member + 1) * of_member; ++r) {
          system.connect(*requesters[r].miss, to_banks, latency);
          system.connect(*requesters[r].acknowledge, acknowledgements, latency);
          responses.push_back(requesters[r].filled);
          invalidates.push_back(requesters[r].invalidate);
        }
      auto const to_members = system.family(responses);
      auto const invalidate = system.family(invalidates);
      for (std::uint32_t bank = 0; bank < banks; ++bank) {
        system.connect(gpu.tlbs[l][group * banks + bank]->response, to_members, latency);
        system.connect(gpu.tlbs[l][group * banks + bank]->forwarded, invalidate, latency);
      }
    }
    requesters = std::move(tlbs);
  }
  if (gpu.balancer != nullptr) wire_balancer(gpu);
  auto const latency = cycles(config_.gpu.translation_latency);
  auto& gmmu = *gpu.gmmu;
  auto const requests = system.family(std::vector{gmmu.request});
  auto const acknowledgements = system.family(std::vector{gmmu.invalidated});
  std::vector<In<TranslateResponse>> responses;
  std::vector<In<Invalidate>> invalidates;
  for (auto const& tlb : requesters) {
    system.connect(*tlb.miss, requests, latency);
    system.connect(*tlb.acknowledge, acknowledgements, latency);
    responses.push_back(tlb.filled);
    invalidates.push_back(tlb.invalidate);
  }
  system.connect(gmmu.response, system.family(responses), latency);
  system.connect(gmmu.to_tlb, system.family(invalidates), latency);
  if (gmmu.spec().fault_batches)
    for (auto* tlb : gpu.tlbs[0]) system.connect(tlb->faulted, gmmu.raw_fault, cycles(to_gmmu));
}

std::vector<std::vector<std::uint32_t>> Assembly::sms_by_application() const {
  std::vector<std::vector<std::uint32_t>> sms;
  for (std::uint32_t a = 0; a < applications_.count(); ++a) sms.push_back(applications_.sms_of(a, sms_));
  return sms;
}

}  // namespace farfault::topologies
