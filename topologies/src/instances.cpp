// SPDX-License-Identifier: Apache-2.0
// Machines of a cluster that run the applications together, and the host and driver of each such instance.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "assembly_devices.hpp"

namespace farfault::topologies {

namespace {

std::uint64_t pages_of_buffers(PagingDriverSpec const& driver) {
  std::uint64_t pages = 0;
  for (auto const& b : driver.buffers) pages += b.count;
  return pages;
}

// Large frames that hold all pages of the buffers, if each base page occupies a large frame alone.
std::uint64_t large_frames_of_buffers(PagingDriverSpec const& driver) {
  std::set<std::uint64_t> large;
  std::uint64_t base = 0;
  for (auto const& b : driver.buffers)
    for (auto p = b.first; p - b.first < b.count;) {
      auto const size = driver.large.size_of(p);
      if (size != 0)
        large.insert(first_of(p, size));
      else
        ++base;
      p = first_of(p, size) + (std::uint64_t{1} << size);
    }
  if (driver.placed != nullptr)
    for (auto const& p : *driver.placed) base += p.size == 0 && driver.large.size_of(p.page) != 0 ? 1 : 0;
  return large.size() + base;
}

// True if batches may bring more pages than a GPU has frames.
bool may_evict(PagingDriverSpec const& driver) {
  if (!driver.in_batches) return false;
  bool const lacks_large =
      driver.large.any() && large_frames_of_buffers(driver) > driver.frames_per_gpu >> driver.large_size;
  return lacks_large || pages_of_buffers(driver) > driver.usable_frames();
}

// Every evicted large page finds a large frame in the CPU's memory, whatever frames base pages and the host's
// pages use.
void check_large_eviction(InitialMemory const& memory, PagingDriverSpec const& driver) {
  if (!driver.large.any()) return;
  auto const host = (memory.host_pages().pages() >> driver.large_size) + 2;
  auto const needed = large_frames_of_buffers(driver) + (memory.host_pages().empty() ? 0 : host);
  auto const room = driver.frames_of_cpu >> driver.large_size;
  if (room < needed)
    throw UserError("driver.batch.replay = " + driver.batch.replay.name() +
                    ": large pages are evicted to large frames of the CPU's memory, which needs " +
                    std::to_string(needed) +
                    " of them: one for each large page and, because base pages may occupy any frames, one "
                    "for each base page; cpu.dram.capacity has " +
                    std::to_string(room));
}

// Allocated memory is not evicted, and may occupy a part of every large frame.
void check_large_allocations(PagingDriverSpec const& driver, Applications const& applications) {
  for (std::uint32_t a = 0; a < applications.count(); ++a) {
    auto const& workload = *applications[a].workload;
    if (driver.large.any() && std::ranges::any_of(workload.operations(), &Operation::is_allocation))
      throw UserError("driver.batch.replay = " + driver.batch.replay.name() +
                      ": large pages are brought to large frames, but workload '" + workload.name() +
                      "' allocates memory, which is never evicted and may leave no large frame; set "
                      "allocates of the application to false, or use base pages (memory.page_sizes)");
  }
}

// In every case, an eviction unit must find room in the CPU's memory.
void check_eviction_capacity(InitialMemory const& memory, PagingDriverSpec const& driver) {
  if (!may_evict(driver)) return;
  check_large_eviction(memory, driver);
  auto const pages = pages_of_buffers(driver);
  auto const unit = std::max<std::uint64_t>(driver.batch.eviction_unit.bytes >> driver.page_bits, 1);
  // If a page has copies on GPUs, the page itself may be in the CPU's memory.
  auto const stays = driver.makes_copies ? 0 : driver.usable_frames();
  auto const needed = std::min(pages, pages - stays + unit);
  auto const room = driver.frames_of_cpu - memory.host_pages().pages();
  if (room < needed)
    throw UserError("driver.batch.replay = " + driver.batch.replay.name() + ": CPU memory must hold up to " +
                    std::to_string(needed) + " evicted pages, but cpu.dram.capacity has room for " +
                    std::to_string(room) + " of them");
}

// By GPU: maximum number of base pages that the application has allocated there. Exact for a program with one
// stream; for several streams, the largest buffer is a lower bound.
std::vector<std::uint64_t> max_allocated(InitialMemory const& memory, Applications const& applications,
                                         std::uint32_t a, std::uint32_t gpus) {
  auto const& workload = *applications[a].workload;
  std::vector<std::uint64_t> now(gpus), most(gpus);
  for (auto const& o : workload.operations()) {
    if (!o.is_allocation()) continue;
    auto const& buffer = memory.buffers(a)[workload.buffer_at(o.first)];
    bool const allocates = o.kind == OperationKind::allocate;
    if (workload.streams() > 1) std::ranges::fill(now, 0);
    for (auto p = buffer.first; p - buffer.first < buffer.count; ++p) {
      auto const* device = memory.planned().find(p);
      if (device == nullptr || *device >= gpus) continue;
      now[*device] += allocates ? 1 : std::uint64_t{0} - 1;
    }
    for (std::uint32_t g = 0; allocates && g < gpus; ++g) most[g] = std::max(most[g], now[g]);
  }
  return most;
}

// Allocated memory is not evicted, and faulted pages need at least one more frame.
void check_migration_capacity(InitialMemory const& memory, PagingDriverSpec const& driver,
                              Applications const& applications) {
  for (std::uint32_t a = 0; a < applications.count(); ++a)
    for (auto const pages : max_allocated(memory, applications, a, driver.devices.gpus()))
      if (pages >= driver.usable_frames())
        throw UserError("driver.batch.replay = " + driver.batch.replay.name() + ": workload '" +
                        applications[a].workload->name() + "' allocates " + std::to_string(pages) +
                        " pages on a GPU, which are never evicted, but the GPU has " +
                        std::to_string(driver.usable_frames()) +
                        " frames: none is left for faulted pages (memory.gpu_share, gpu.dram.capacity)");
}

}  // namespace

void Assembly::find_instances() {
  auto const& nodes = machine_.nodes;
  bool const cluster = machine_.machines() > 1;
  auto const scope = config_.memory.scope.facts();
  std::vector<Instance*> of_machine;
  std::map<std::uint32_t, Instance*> known;  // by number of the scope
  for (std::uint32_t m = 0; m < machine_.machines(); ++m) {
    auto const [instance, fresh] = known.try_emplace(cluster ? scope.instance_of(m) : 0, nullptr);
    if (fresh) {
      instances_.push_back(std::make_unique<Instance>());
      instances_.back()->machine = static_cast<int>(m);
      instance->second = instances_.back().get();
    }
    of_machine.push_back(instance->second);
  }
  auto const join = [&](auto& devices, std::vector<std::uint32_t> Instance::*list) {
    for (std::uint32_t i = 0; i < devices.size(); ++i) {
      auto& device = *devices[i];
      device.instance = of_machine[static_cast<std::size_t>(nodes[device.node].machine)];
      auto& numbers = device.instance->*list;
      device.number = static_cast<std::uint32_t>(numbers.size());
      numbers.push_back(i);
    }
  };
  join(gpus_, &Instance::gpus);
  join(cpus_, &Instance::cpus);
  for (auto& instance : instances_) {
    auto const lacks = [&](std::string const& what, std::string const& why) {
      throw UserError("machine '" + shown(machine_.name) + "': " + machine_name(instance->machine) +
                      " has no " + what + ", but with memory.scope = \"" + config_.memory.scope.name() +
                      "\" " + why);
    };
    if (instance->cpus.empty()) lacks("CPU", "each machine needs one for its IOMMU and driver");
    if (instance->gpus.empty()) lacks("GPU", "each machine runs the workload separately");
  }
  for (auto& gpu : gpus_) {
    auto nearest = Duration::max();
    for (auto const c : gpu->instance->cpus) {
      auto const latency = routes_.latency(gpu->node, cpus_[c]->node);
      if (latency >= nearest) continue;
      nearest = latency;
      gpu->cpu = c;
    }
    ++cpus_[gpu->cpu]->served;
  }
}

void Assembly::place_pages(PagePlacement const& placement) {
  for (auto& instance : instances_) {
    std::vector<DeviceId> gpus(instance->gpus.begin(), instance->gpus.end());
    NodeDevices devices(std::move(gpus), static_cast<DeviceId>(kFirstCpu + instance->cpus.front()));
    auto const frames = InitialMemory::data_bytes(config_.dram.capacity.bytes) >> page_bits_;
    check_large_frames(*instance, frames, "gpu.dram.capacity");
    auto const fragmentation = config_.memory.fragmentation();
    if (fragmentation.any() &&
        fragmentation.frames({frames, page_bits_, 1, config_.memory.large_frame_size()}) == frames)
      throw UserError(
          "memory.fragmentation_index = 1 and memory.fragmentation_occupancy = 1 leave no free page on a "
          "GPU");
    if (config_.memory.frame_allocation.facts().uses_partitions && instance->gpus.size() > 1)
      throw UserError("memory.frame_allocation = " + config_.memory.frame_allocation.name() +
                      ": distributes whole buffers over the partitions of a single GPU, but " +
                      std::to_string(instance->gpus.size()) + " GPUs share the memory of the machine");
    instance->memory.emplace(InitialMemory::Spec{.applications = &applications_,
                                                 .devices = std::move(devices),
                                                 .names = &device_names_,
                                                 .page_bits = page_bits_,
                                                 .bytes_of_gpu = config_.dram.capacity.bytes,
                                                 .bytes_of_cpu = config_.cpu_dram.capacity.bytes,
                                                 .frames = config_.memory.frame_allocation,
                                                 .large = config_.memory.large(),
                                                 .large_size = config_.memory.large_frame_size(),
                                                 .coalesces = config_.memory.coalesces(),
                                                 .fragmentation = config_.memory.fragmentation(),
                                                 .parts = config_.l2_cache.parts(),
                                                 .tables = places_of_tables()});
    for (std::uint32_t a = 0; a < applications_.count(); ++a) {
      ApplicationMemory memory(*instance->memory, a);
      placement.place(memory);
    }
    instance->memory->place_host_pages();
    instance->memory->coalesce();
    if (config_.maps_remotely_at_start()) instance->memory->map_remotely();
    for (std::uint32_t g = 0; code_ && g < instance->gpus.size(); ++g) map_code(*instance->memory, g);
  }
}

NodePlaces Assembly::places_of_tables() const {
  auto const parts = config_.l2_cache.parts();
  auto const& where = config_.memory.page_tables;
  if (parts.count == 1 || where == TablePlaces::in_order) return {};
  NodePlaces places{.parts = parts.count, .block = parts.block};
  if (where == TablePlaces::with_data) {
    places.with_frame = true;
    return places;
  }
  auto const last = config_.tlb_levels().back();
  places.banks = last.banks;
  places.pages = last.interleave.bytes >> page_bits_;
  return places;
}

void Assembly::add_host_and_driver(Instance& instance) {
  auto const prefix = instances_.size() > 1 ? machine_name(instance.machine) + "." : "";
  auto const gpus = static_cast<std::uint32_t>(instance.gpus.size());
  auto const iommus = static_cast<std::uint32_t>(instance.cpus.size());
  auto const& memory = *instance.memory;
  instance.host = &system_->add<Host>(prefix + "host",
                                      {.params = config_.host,
                                       .gpus = gpus,
                                       .applications = &applications_,
                                       .asks_for_write_back = gpus > 1 && config_.writes_back_at_kernel_end(),
                                       .fetches = code_.has_value()});
  PagingDriverSpec driver;
  driver.params = config_.driver;
  driver.page_bits = page_bits_;
  driver.devices = memory.devices();
  driver.names = &device_names_;
  driver.frames_per_gpu = InitialMemory::data_bytes(config_.dram.capacity.bytes) >> page_bits_;
  driver.frames_of_cpu = InitialMemory::data_bytes(config_.cpu_dram.capacity.bytes) >> page_bits_;
  driver.frames = config_.memory.frame_allocation;
  driver.placed = &memory.placed();
  driver.preloaded = &memory.iommu_table();
  driver.iommus = iommus;
  driver.queue =
      iommus * (config_.iommu.pages + config_.iommu.fault_buffer) + gpus * config_.gmmu.fault_buffer;
  driver.first_touch_by = config_.memory.first_touch_by;
  driver.first_touch_copy = config_.memory.first_touch_copy;
  driver.gpus_end_walks = config_.gpus_end_walks();
  driver.decides_alone = !config_.asks_iommu();
  driver.host_written = memory.host_written();
  driver.flush_moving_pages = config_.l2_cache.software_coherent();
  driver.unmapped_pages = memory.unmapped_pages();
  driver.maps_at_first_touch = config_.memory.maps_at_first_touch();
  driver.decide_by(config_.memory.remote_touch);
  driver.buffers = memory.all_buffers();
  driver.spaces = applications_.spaces();
  driver.large = memory.large_pages();
  driver.page_sizes = config_.memory.page_sizes;
  driver.coalesces = config_.memory.coalesces();
  driver.coalesced_at_start = memory.coalesced();
  driver.large_size = config_.memory.large_frame_size();
  describe_relocations(driver);
  driver.large_regions = memory.large_regions();
  driver.parts = parts_of_frames(config_.l2_cache.parts(), page_bits_);
  auto const ordering = std::ranges::find_if(applications_, [](Application const& a) {
    return std::ranges::any_of(a.workload->operations(), &Operation::is_of_driver);
  });
  bool const orders = ordering != applications_.end();
  if (orders && driver.makes_copies)
    throw UserError("memory.remote_touch = " + config_.memory.remote_touch.name() +
                    ": pages that a program copies, allocates or frees cannot have copies on other GPUs, but "
                    "application '" +
                    ordering->name +
                    "' has such operations; choose another memory.remote_touch, or set copies and allocates "
                    "of the application to false");
  if (orders) driver.host_pages = &memory.host_pages();
  driver.planned = &memory.planned();
  driver.applications = applications_.names();
  driver.programs = &applications_;
  for (std::uint32_t a = 0; a < applications_.count(); ++a)
    driver.gpus_of_application.push_back(applications_.gpus_of(a, gpus));
  driver.application_of_stream = applications_.application_of_stream();
  driver.line_bytes = config_.gpu.line_bytes;
  driver.counters = config_.counter_service;
  driver.counter_regions = config_.access_counters.regions();
  driver.notifications = config_.access_counters.notifications;
  if (config_.in_batches() || driver.counts_accesses)
    for (auto const g : instance.gpus) driver.iommu_of_gpu.push_back(cpus_[gpus_[g]->cpu]->number);
  if (config_.in_batches()) {
    describe_batches(instance, driver);
    check_large_allocations(driver, applications_);
    check_eviction_capacity(memory, driver);
    check_migration_capacity(memory, driver, applications_);
  }
  instance.driver = &system_->add<PagingDriver>(prefix + "driver", driver);
}

// Settings for pages that are moved within a GPU's memory, because it is fragmented or to coalesce them.
void Assembly::describe_relocations(PagingDriverSpec& driver) const {
  auto const& memory = config_.memory;
  driver.compaction = memory.compaction;
  driver.fragmentation = memory.fragmentation();
  driver.moves_to_coalesce = memory.moves_to_coalesce();
  driver.application_of_space = application_of_space();
  driver.stalls_gpus = memory.stalls_gpus();
  auto const first_touch = first_touch_latency(*cpus_.front()).get();
  driver.response_delay = std::max(first_touch - config_.driver.notify_latency, Duration::zero());
  if (!memory.compacts()) return;
  auto const pages = static_cast<double>(std::uint64_t{1} << memory.large_frame_size());
  auto const threshold = static_cast<std::uint64_t>(std::ceil(memory.compaction_threshold * pages));
  driver.max_moved = std::max<std::uint64_t>(threshold, 2) - 1;
}

// If several applications share a space, the first one.
std::vector<std::uint8_t> Assembly::application_of_space() const {
  std::vector<std::uint8_t> of(applications_.spaces());
  for (auto a = applications_.count(); a > 0; --a)
    of[applications_[a - 1].space] = static_cast<std::uint8_t>(a - 1);
  return of;
}

std::uint32_t Assembly::batch_workers(Instance const& instance) const {
  auto const gpus = static_cast<std::uint32_t>(instance.gpus.size());
  if (auto const workers = config_.batch.workers_of(gpus)) return *workers;
  auto const driver =
      instances_.size() > 1 ? "the driver of " + machine_name(instance.machine) : "the driver";
  throw UserError("driver.batch.workers = " + config_.batch.workers +
                  ": a worker serves one GPU at a time, but " + driver + " has " + std::to_string(gpus) +
                  (gpus == 1 ? " GPU" : " GPUs") + "; use at most " + std::to_string(gpus) + ", or \"" +
                  std::string(BatchParams::kOnePerGpu) + "\"");
}

// The memory of each GPU is its share of the size of all buffers, if that is less than its capacity.
void Assembly::describe_batches(Instance const& instance, PagingDriverSpec& driver) const {
  driver.in_batches = true;
  driver.batch = config_.batch;
  driver.batch_workers = batch_workers(instance);
  if (driver.batches_compete() && config_.batch.least_stay == Duration::zero())
    throw UserError(
        "driver.batch.least_stay = 0 with several driver.batch.workers: GPUs could take a page from "
        "each other before an access finds it, forever; use a time longer than an access, or "
        "driver.batch.workers = 1");
  driver.reports_lifetimes = config_.has_periods();
  driver.reports_uses = config_.page_uses().enabled;
  auto const unit = std::max<std::uint64_t>(config_.batch.eviction_unit.bytes >> page_bits_, 1);
  if (driver.usable_frames() < unit)
    throw UserError("memory.fragmentation_index leaves a GPU " + std::to_string(driver.usable_frames()) +
                    " free pages, fewer than the " + std::to_string(unit) +
                    " of a driver.batch.eviction_unit; lower one of the two");
  if (config_.memory.gpu_share >= 1) return;
  auto const share = std::ceil(static_cast<double>(pages_of_buffers(driver)) * config_.memory.gpu_share /
                               static_cast<double>(instance.gpus.size()));
  auto const room = config_.gpu.memory_contents.facts().pages(static_cast<std::uint64_t>(share));
  driver.frames_per_gpu = std::min(driver.frames_per_gpu, room);
  auto const has = "memory.gpu_share leaves a GPU " + std::to_string(driver.frames_per_gpu) + " pages, ";
  if (driver.frames_per_gpu < unit)
    throw UserError(has + "fewer than the " + std::to_string(unit) +
                    " of a driver.batch.eviction_unit; increase memory.gpu_share" +
                    (config_.memory.has_large_pages() ? "" : " or lower driver.batch.eviction_unit"));
  std::vector<std::uint64_t> placed(instance.gpus.size());
  for (auto const& p : instance.memory->placed())
    if (p.device < kFirstCpu && (placed[p.device] += std::uint64_t{1} << p.size) > driver.frames_per_gpu)
      throw UserError(has + "fewer than memory.placement = " + config_.memory.placement.name() +
                      " places there before the first kernel; increase memory.gpu_share or choose another "
                      "memory.placement");
  if (config_.memory.has_large_frames())
    check_large_frames(instance, driver.frames_per_gpu, "memory.gpu_share");
  check_placed(instance, driver);
}

// A smaller memory may assign other frames to the same pages, even if it is large enough.
void Assembly::check_placed(Instance const& instance, PagingDriverSpec const& driver) const {
  auto const& memory = *instance.memory;
  PolicyArray<FrameAllocator> frames;
  for (std::uint32_t g = 0; g < instance.gpus.size(); ++g) {
    frames.add(driver.frames.make(driver.gpu_memory()));
    driver.fragmentation.occupy(frames[g], driver.gpu_memory(), g);
  }
  for (auto const& p : memory.placed()) {
    if (p.device >= kFirstCpu) continue;
    auto& of_gpu = frames[p.device];
    auto const frame =
        p.size != 0 ? of_gpu.allocate_large(p.page, p.size) : std::optional(of_gpu.allocate(p.page));
    if (frame != offset_of(memory.iommu_table().find_mapped(p.page)->frame) >> page_bits_)
      throw UserError(
          "memory.gpu_share leaves a GPU " + std::to_string(driver.frames_per_gpu) +
          " pages, too few to keep the frames that memory.placement = " + config_.memory.placement.name() +
          " assigned before the first kernel, because memory.frame_allocation = " +
          config_.memory.frame_allocation.name() +
          " assigns other frames in a smaller memory; increase memory.gpu_share, or choose another "
          "memory.placement or memory.frame_allocation");
  }
}

// If pages may leave their frames, a GPU is requested to unmap a page of another device only if it
// requested the page's translation, or if its table maps the page from the start.
PageTable const& Assembly::mapped_for(Gpu const& gpu) const {
  auto const& instance = *gpu.instance;
  bool const leave =
      config_.memory.pages_move() || config_.memory.relocates() || may_evict(instance.driver->spec());
  return leave ? instance.memory->gpu_table(gpu.number) : instance.memory->iommu_table();
}

void Assembly::check_large_frames(Instance const& instance, std::uint64_t frames,
                                  std::string const& whose) const {
  if (!config_.memory.has_large_frames()) return;
  auto const gpus = static_cast<std::uint32_t>(instance.gpus.size());
  std::vector<std::uint64_t> applications(gpus);
  for (std::uint32_t a = 0; a < applications_.count(); ++a)
    for (auto const g : applications_.gpus_of(a, gpus)) ++applications[g];
  auto const most = gpus == 0 ? 0 : *std::ranges::max_element(applications);
  auto const large_frames = frames >> config_.memory.large_frame_size();
  if (large_frames < most)
    throw UserError("memory.frame_allocation = " + config_.memory.frame_allocation.name() +
                    " needs a large frame (memory.large_page_size) for each of the " + std::to_string(most) +
                    " applications that run on a GPU; " + whose + " leaves it " +
                    std::to_string(large_frames) + " for data");
}

void Assembly::wire_instance(Instance& instance) {
  auto& host = *instance.host;
  auto& driver = *instance.driver;
  std::vector<In<LaunchKernel>> launches;
  std::vector<In<KernelEnd>> ends;
  std::vector<In<CopyOrder>> copies;
  for (auto const g : instance.gpus) {
    launches.push_back(gpus_[g]->dispatcher->launch);
    ends.push_back(gpus_[g]->dispatcher->kernel_end);
    copies.push_back(gpus_[g]->copy_engine->copy);
  }
  system_->connect(host.launch, system_->family(launches), Latency{config_.host.launch_latency});
  if (host.spec().asks_for_write_back)
    system_->connect(host.kernel_end, system_->family(ends), Latency{config_.host.done_latency});

  Latency const notify{config_.driver.notify_latency};
  auto const& first = *cpus_[instance.cpus.front()];
  std::vector<In<PageMapped>> mapped;
  std::vector<In<PageMove>> moves;
  for (auto const c : instance.cpus) {
    mapped.push_back(cpus_[c]->iommu->mapped);
    moves.push_back(cpus_[c]->iommu->move);
  }
  system_->connect(driver.mapped, system_->family(mapped), notify);
  system_->connect(driver.placed, first.iommu->mapped, first_touch_latency(first));
  system_->connect(driver.move, system_->family(moves), notify);
  system_->connect(driver.copy, system_->family(copies), notify);
  if (driver.spec().stalls_gpus) {
    std::vector<In<GpuStall>> stalls;
    for (auto const g : instance.gpus) stalls.push_back(gpus_[g]->dispatcher->stall);
    system_->connect(driver.stall, system_->family(stalls), notify);
  }
  if (driver.spec().in_batches || driver.spec().counts_accesses) {
    std::vector<In<Packet>> orders;
    for (auto const c : instance.cpus) orders.push_back(cpus_[c]->port->from_driver);
    system_->connect(driver.to_gpus, system_->family(orders), notify);
  }
  if (driver.spec().in_batches) {
    std::vector<In<PageLifetimes>> lifetimes;
    for (auto const g : instance.gpus) lifetimes.push_back(gpus_[g]->dispatcher->lifetimes);
    if (driver.spec().reports_lifetimes)
      system_->connect(driver.lifetimes, system_->family(lifetimes), notify);
    if (driver.spec().reports_uses)
      for (auto const g : instance.gpus) {
        for (auto* sm : gpus_[g]->sms) system_->connect(sm->used, driver.used, notify);
        for (auto const& kind : gpus_[g]->read_only)
          for (auto* cache : kind.caches)
            if (cache->spec().page_uses.enabled) system_->connect(cache->used, driver.used, notify);
      }
  }
  if (driver.spec().host_pages != nullptr) {
    system_->connect(host.memory_order, driver.memory_order, Latency{config_.host.launch_latency});
    system_->connect(driver.order_done, host.order_done, Latency{config_.host.done_latency});
  }
  for (std::uint32_t a = 0; a < applications_.count(); ++a)
    if (!applications_[a].workload->operations().empty())
      system_->post(host.begin, StartApplication{a}, applications_[a].start);
}

std::vector<InstanceInfo> Assembly::instances() const {
  std::vector<InstanceInfo> all;
  for (auto const& instance : instances_)
    all.push_back({instances_.size() > 1 ? machine_name(instance->machine) : std::string(), instance->host,
                   instance->driver});
  return all;
}

Host const& Assembly::host(std::size_t instance) const {
  return *instances_[instance]->host;
}

std::vector<std::uint32_t> Assembly::instances_of_nodes() const {
  std::vector<std::uint32_t> of_node(machine_.nodes.size(), kNone);
  for (std::uint32_t i = 0; i < instances_.size(); ++i) {
    for (auto const g : instances_[i]->gpus) of_node[gpus_[g]->node] = i;
    for (auto const c : instances_[i]->cpus) of_node[cpus_[c]->node] = i;
  }
  return of_node;
}

}  // namespace farfault::topologies
