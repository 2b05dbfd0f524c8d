// SPDX-License-Identifier: Apache-2.0
// Placement by a page map. A large page is placed by any of its base pages in the map. Frames are allocated
// in file order. Pages that the map does not list are mapped at their first touch.
#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "farfault/paging/application_memory.hpp"
#include "farfault/paging/page_map.hpp"
#include "farfault/paging/page_placement.hpp"

namespace farfault::placements {
namespace {

// Device numbers of the names in the map: by name, else by kind and number. nullopt: the machine does not
// have the device.
std::vector<std::optional<DeviceId>> devices_of(PageMap const& map, InitialMemory const& machine) {
  std::unordered_map<std::string, DeviceId> known{{device_name(kFirstCpu), kFirstCpu}};
  for (std::uint32_t g = 0; g < machine.gpus(); ++g)
    known[device_name(static_cast<DeviceId>(g))] = static_cast<DeviceId>(g);
  known[machine.name_of_device(kFirstCpu)] = kFirstCpu;
  for (std::uint32_t g = 0; g < machine.gpus(); ++g)
    known[machine.name_of_device(static_cast<DeviceId>(g))] = static_cast<DeviceId>(g);
  std::vector<std::optional<DeviceId>> devices;
  for (auto const& name : map.devices) {
    auto const found = known.find(name);
    devices.push_back(found == known.end() ? std::nullopt : std::optional(found->second));
  }
  return devices;
}

class Recorded final : public PagePlacement {
 public:
  struct Params {
    std::string map;
    void describe(ParamTable& t) {
      t.file("map", map,
             "Page-map file (heading page,device; lines such as 1048576,gpu0). Unlisted pages are mapped at "
             "first touch",
             "simulator setting");
    }
  };

  static constexpr Facts facts() { return {.leaves_out = true}; }

  explicit Recorded(Params const& p) : params_{p} {}

  std::vector<Input> open(PathOf const& path_of) override {
    if (params_->map.empty())
      throw UserError("memory.placement = recorded needs memory.recorded.map, the file with the page map");
    map_.value = load_page_map(path_of("recorded.map", params_->map));
    return {{"recorded.map", {map_->path, map_->bytes, map_->hash}}};
  }

  void place(ApplicationMemory& memory) const override {
    auto const& map = map_.value;
    auto const& machine = memory.machine();
    auto const devices = devices_of(map, machine);
    for (auto const& m : map.pages) {
      auto const page = "page " + std::to_string(m.page);
      auto const device = devices[m.device];
      if (!device)
        map.refuse(m, page + " is placed on " + shown(map.devices[m.device]) + ", but the devices are " +
                          machine.name_of_device(0) + " to " +
                          machine.name_of_device(static_cast<DeviceId>(machine.gpus() - 1)) + " and " +
                          machine.name_of_device(kFirstCpu));
      auto const holds = [&](PageRange const& b) { return b.first <= m.page && m.page < b.first + b.count; };
      if (!std::ranges::any_of(memory.buffers(), holds)) {
        if (machine.is_in_buffer(m.page)) continue;  // page of another application
        map.refuse(m, page + " is in no buffer of workload '" + memory.workload().name() +
                          "': the map belongs to another workload, size or page size");
      }
      if (auto const there = machine.place_of(m.page)) {
        if (*there == *device) continue;
        map.refuse(m, page + " is placed on " + map.devices[m.device] + ", but its large page is on " +
                          machine.name_of_device(*there));
      }
      if (!memory.place(m.page, *device))
        map.refuse(m, page + " does not fit in the memory of " + map.devices[m.device] +
                          "; increase gpu.dram.capacity or cpu.dram.capacity");
    }
  }

  auto members() { return std::tie(params_, map_); }

 private:
  Fixed<Params> params_;
  Fixed<PageMap> map_;
};

}  // namespace

void recorded(PolicyList<PagePlacement>& list) {
  list.add<Recorded>("recorded", "device in the page map memory.recorded.map");
}

}  // namespace farfault::placements
