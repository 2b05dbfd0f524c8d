// Pages lie where a page map says, a large one where the map says of any of its base pages. Frames are
// allocated in the order of the file. Pages that it does not name are mapped at their first touch.
#include <algorithm>

#include "farfault/paging/application_memory.hpp"
#include "farfault/paging/page_map.hpp"
#include "farfault/paging/page_placement.hpp"

namespace farfault::placements {
namespace {

class Recorded final : public PagePlacement {
 public:
  struct Params {
    std::string map;
    void describe(ParamTable& t) {
      t.file("map", map,
             "a file of lines page,device under that heading, such as 1048576,gpu0; what it leaves out is "
             "mapped at its first touch",
             "none");
    }
  };

  explicit Recorded(Params const& p) : params_{p} {}

  std::vector<Input> open(PathOf const& path_of) override {
    if (params_->map.empty())
      throw UserError(
          "memory.placement = recorded needs memory.recorded.map, the file that says where pages are");
    map_.value = load_page_map(path_of("recorded.map", params_->map));
    return {{"recorded.map", {map_->path, map_->bytes, map_->hash}}};
  }

  void place(ApplicationMemory& memory) const override {
    auto const& map = map_.value;
    auto const& machine = memory.machine();
    auto const last = device_name(static_cast<DeviceId>(machine.gpus() - 1));
    for (auto const& m : map.pages) {
      auto const page = "page " + std::to_string(m.page);
      if (m.device < kFirstCpu ? m.device >= machine.gpus() : m.device != kFirstCpu)
        map.refuse(m, page + " is placed on " + device_name(m.device) + ", but pages can be on gpu0 to " +
                          last + " and on cpu0");
      auto const holds = [&](PageRange const& b) { return b.first <= m.page && m.page < b.first + b.count; };
      if (!std::ranges::any_of(memory.buffers(), holds)) {
        if (machine.is_in_buffer(m.page)) continue;  // of another application
        map.refuse(m, page + " is in no buffer of workload '" + memory.workload().name() +
                          "': the map is of another workload, size or page size");
      }
      if (auto const there = machine.place_of(m.page)) {
        if (*there == m.device) continue;
        map.refuse(m, page + " is placed on " + device_name(m.device) +
                          ", but the large page that holds it on " + device_name(*there));
      }
      if (!memory.place(m.page, m.device))
        map.refuse(m, page + " finds the memory of " + device_name(m.device) +
                          " full (gpu.dram.capacity, cpu.dram.capacity)");
    }
  }
  bool leaves_out() const override { return true; }

  auto members() { return std::tie(params_, map_); }

 private:
  Fixed<Params> params_;
  Fixed<PageMap> map_;
};

}  // namespace

void recorded(PolicyList<PagePlacement>& list) {
  list.add<Recorded>("recorded", "as the file recorded.map says");
}

}  // namespace farfault::placements
