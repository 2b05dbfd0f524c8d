// SPDX-License-Identifier: Apache-2.0
// Placement of each page of a buffer in a GPU's memory before the first kernel.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "run_model.hpp"

namespace placement_test {

using namespace farfault;
using test::ModelRun;

namespace {

// GPU of each page of a single buffer of `pages` pages.
std::vector<int> placed(std::string const& policy, int pages, std::string const& more = "") {
  ModelRun run(
      "include = [\"paper-gmmu-bypass\"]\nworkload.name = \"pointer_chase\"\ngpu.sms = 1\n"
      "workload.pointer_chase.stride = \"4096 B\"\nworkload.pointer_chase.hops = 1\n"
      "workload.pointer_chase.elements = " +
      std::to_string(pages) + "\nmemory.placement = \"" + policy + "\"\n" + more);
  std::vector<int> gpus;
  for (ComponentId id = 0; id < run.system().component_count(); ++id) {
    auto const* component = &run.system().component(id);
    if (auto const* iommu = dynamic_cast<Iommu const*>(component))
      iommu->state().table.each_page(
          [&](std::uint64_t, PageTranslation const& t) { gpus.push_back(device_of(t.frame)); });
  }
  // Each GPU's own table maps exactly its pages.
  std::size_t gpu = 0;
  for (ComponentId id = 0; id < run.system().component_count(); ++id)
    if (auto const* gmmu = dynamic_cast<Gmmu const*>(&run.system().component(id))) {
      CHECK(gmmu->state().table.mapped_pages() ==
            static_cast<std::uint64_t>(std::count(gpus.begin(), gpus.end(), static_cast<int>(gpu))));
      gmmu->state().table.each_page(
          [&](std::uint64_t, PageTranslation const& t) { CHECK(device_of(t.frame) == gpu); });
      ++gpu;
    }
  CHECK(gpu == 4);
  return gpus;
}

using Gpus = std::vector<int>;

}  // namespace

TEST_CASE(
    "contiguous: pages not divisible by four GPUs are placed in ranges that differ by at most one page") {
  CHECK(placed("contiguous", 8) == Gpus{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(placed("contiguous", 9) == Gpus{0, 0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(placed("contiguous", 10) == Gpus{0, 0, 0, 1, 1, 2, 2, 2, 3, 3});
  CHECK(placed("contiguous", 11) == Gpus{0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3});
  CHECK(placed("contiguous", 3) == Gpus{0, 1, 2});
  CHECK(placed("contiguous", 1) == Gpus{0});
}

TEST_CASE("interleave: pages are placed on the GPUs round-robin by page number") {
  CHECK(placed("interleave", 6) == Gpus{0, 1, 2, 3, 0, 1});
}

TEST_CASE("first_touch: no page is placed before it is touched") {
  CHECK(placed("first_touch", 6).empty());
}

namespace {

// A page map that is removed with its test.
class MapFile {
 public:
  explicit MapFile(std::string const& lines)
      : path_(std::filesystem::path(FARFAULT_BINARY_DIR) / "page_map.csv") {
    std::ofstream(path_) << "page,device\n" << lines;
  }
  ~MapFile() { std::filesystem::remove(path_); }
  MapFile(MapFile const&) = delete;
  MapFile& operator=(MapFile const&) = delete;
  std::string setting() const { return "memory.recorded.map = \"" + path_.string() + "\"\n"; }

 private:
  std::filesystem::path path_;
};

// First page of the buffers (buffer_layout.hpp).
constexpr std::uint64_t kFirstPage = 0x1'0000'0000 >> 12;
std::string line(std::uint64_t page, std::string const& device) {
  return std::to_string(kFirstPage + page) + "," + device + "\n";
}

std::string refusal(std::string const& lines, int pages, std::string const& more = "") {
  MapFile const map(lines);
  try {
    placed("recorded", pages, map.setting() + more);
  } catch (UserError const& error) {
    std::string const text = error.what();
    return text.substr(text.find("page_map.csv") + 12);
  }
  return "accepted";
}

}  // namespace

TEST_CASE("recorded: pages are placed by the map, and omitted pages are not placed") {
  MapFile const map(line(3, "gpu2") + line(0, "gpu1") + line(5, "cpu0") + line(1, "gpu1"));
  CHECK(placed("recorded", 6, map.setting()) == Gpus{1, 1, 2, kFirstCpu});
}

TEST_CASE(
    "recorded: a map that does not match the machine or the workload is rejected with line, value and rule") {
  std::string const page = std::to_string(kFirstPage + 1);
  CHECK(refusal(line(0, "gpu0") + line(1, "gpu4"), 6) ==
        ":3: page " + page + " is placed on gpu4, but the devices are gpu0 to gpu3 and cpu0");
  CHECK(refusal(line(1, "cpu1"), 6) ==
        ":2: page " + page + " is placed on cpu1, but the devices are gpu0 to gpu3 and cpu0");
  CHECK(refusal(line(1, "gpu0"), 1) == ":2: page " + page +
                                           " is in no buffer of workload 'pointer_chase': the map belongs to "
                                           "another workload, size or page size");
  CHECK(refusal("7,gpu0\n", 6).starts_with(":2: page 7 is in no buffer"));
  CHECK(refusal(line(0, "gpu0") + line(1, "gpu1"), 512, "memory.large_pages = \"all\"\n") ==
        ":3: page " + page + " is placed on gpu1, but its large page is on gpu0");
}

TEST_CASE("recorded: a map names devices as in results, or by kind and number, and names take precedence") {
  std::string const model =
      "include = [\"paper-gmmu-bypass\"]\nworkload.name = \"pointer_chase\"\ngpu.sms = 1\n"
      "workload.pointer_chase.stride = \"4096 B\"\nworkload.pointer_chase.hops = 1\n"
      "workload.pointer_chase.elements = 6\nmemory.placement = \"recorded\"\n";
  auto const devices = [&](std::string const& lines, std::string const& more) {
    MapFile const map(lines);
    ModelRun run(model + map.setting() + more);
    Gpus all;
    run.assembly().instances()[0].driver->state().memory.table().each_page(
        [&](std::uint64_t, PageTranslation const& t) { all.push_back(device_of(t.frame)); });
    return all;
  };
  std::string const cluster =
      "machine.topology = \"generic\"\nmachine.generic.gpus = 2\nmachine.cluster.machines = 2\n"
      "memory.scope = \"cluster\"\n";
  CHECK(devices(line(0, "m1.gpu0") + line(1, "gpu1") + line(2, "m0.cpu0") + line(3, "m1.gpu1"), cluster) ==
        Gpus{2, 1, kFirstCpu, 3});
  CHECK(refusal(line(1, "m2.gpu0"), 6, cluster) ==
        ":2: page " + std::to_string(kFirstPage + 1) +
            " is placed on m2.gpu0, but the devices are m0.gpu0 to m1.gpu1 and m0.cpu0");
  // The second GPU has the name that by number would be the first one's.
  auto const path = std::filesystem::path(FARFAULT_BINARY_DIR) / "swapped.toml";
  std::ofstream(path) << "[[node]]\nname = \"c\"\nkind = \"cpu\"\n[[node]]\nname = \"gpu1\"\nkind = \"gpu\"\n"
                         "[[node]]\nname = \"gpu0\"\nkind = \"gpu\"\n"
                         "[[link]]\na = \"c\"\nb = \"gpu1\"\nkind = \"pcie\"\n"
                         "[[link]]\na = \"c\"\nb = \"gpu0\"\nkind = \"pcie\"\n";
  CHECK(devices(line(0, "gpu0") + line(1, "gpu1") + line(2, "cpu0"),
                "machine.topology = \"" + path.string() + "\"\n") == Gpus{1, 0, kFirstCpu});
  std::filesystem::remove(path);
}

TEST_CASE("recorded: with the map of a first-touch run, each page is where that run first touched it") {
  std::string const toml = "include = [\"paper-gmmu-bypass\"]\nworkload.name = \"transpose\"\ngpu.sms = 4\n";
  std::string const small = toml + "workload.transpose.width = 256\nworkload.transpose.height = 128\n";
  auto const driver_of = [](ModelRun& run) {
    for (ComponentId id = 0; id < run.system().component_count(); ++id)
      if (auto const* driver = dynamic_cast<PagingDriver const*>(&run.system().component(id))) return driver;
    return static_cast<PagingDriver const*>(nullptr);
  };
  ModelRun first(small + "memory.placement = \"first_touch\"\n");
  first.run();
  auto const& touches = driver_of(first)->state().records.first_touches();
  REQUIRE(touches.size() == 64);  // two buffers of 128 KiB
  std::string lines;
  for (auto const& t : touches) {
    CHECK(device_of(t.frame) == t.gpu);
    lines += std::to_string(t.page) + ",gpu" + std::to_string(t.gpu) + "\n";
  }
  MapFile const map(lines);
  ModelRun again(small + "memory.placement = \"recorded\"\n" + map.setting());
  again.run();
  auto const& s = driver_of(again)->state();
  CHECK(s.stats[0].page_faults == 0);
  CHECK(s.memory.table().mapped_pages() == 64);
  for (auto const& t : touches)
    CHECK(s.memory.table().find(t.page) == PageTranslation{t.frame});  // to the frame

  std::string const large =
      toml +
      "workload.transpose.width = 1024\nworkload.transpose.height = 512\nmemory.large_pages = \"input\"\n";
  ModelRun with_large(large + "memory.placement = \"first_touch\"\n");
  with_large.run();
  auto const& touched = driver_of(with_large)->state().records.first_touches();
  REQUIRE(touched.size() == 1 + 512);
  lines.clear();
  for (auto const& t : touched) lines += std::to_string(t.page) + ",gpu" + std::to_string(t.gpu) + "\n";
  MapFile const map_of_large(lines);
  ModelRun on_map(large + "memory.placement = \"recorded\"\n" + map_of_large.setting());
  for (auto const& t : touched) {
    PageTranslation const there{t.frame, static_cast<std::uint8_t>(t.size)};
    CHECK(driver_of(on_map)->state().memory.table().find(t.page) == there);
  }
}

TEST_CASE("recorded: a map identifies pages of several address spaces by the numbers written by a run") {
  std::string const toml =
      "include = [\"paper-gmmu-bypass\"]\nworkload.name = \"transpose\"\ngpu.sms = 2\n"
      "workload.transpose.width = 256\nworkload.transpose.height = 128\n";
  test::OneMore other{"fir", "size = \"64KiB\"\n"};
  other.application.space = 1;
  ModelRun first(toml + "memory.placement = \"first_touch\"\n", Application{}, {other});
  auto const& before = first.run().assembly().instances()[0].driver->state();
  std::string lines;
  std::size_t of_other = 0;
  for (auto const& t : before.records.first_touches()) {
    lines += std::to_string(t.page) + ",gpu" + std::to_string(t.gpu) + "\n";
    of_other += space_of_page(t.page, 12);
  }
  CHECK(of_other > 16);
  MapFile const map(lines);
  ModelRun again(toml + "memory.placement = \"recorded\"\n" + map.setting(), Application{}, {other});
  auto const& after = again.run().assembly().instances()[0].driver->state();
  CHECK(after.records.first_touches().empty());
  CHECK(after.memory.table().mapped_pages() == before.records.first_touches().size());
  for (auto const& t : before.records.first_touches()) {
    auto const place = after.memory.table().find(t.page);
    REQUIRE(place);
    CHECK(device_of(place->frame) == t.gpu);
  }
}

namespace {

// Time of a chase that touches each of eight pages of one GPU once; the IOMMU walks for their translations.
std::int64_t touch_eight(std::string const& more, int walk_latency = 100, std::uint64_t walks = 8,
                         std::int64_t* translations = nullptr) {
  ModelRun run(
      "include = [\"paper-gmmu-bypass\"]\nmachine.topology = \"single-gpu\"\nworkload.name = "
      "\"pointer_chase\"\n"
      "gpu.sms = 1\nworkload.pointer_chase.stride = \"4096 B\"\nworkload.pointer_chase.elements = 8\n"
      "workload.pointer_chase.hops = 8\ngpu.router.policy = \"centralized\"\niommu.walk_latency = " +
      std::to_string(walk_latency) + "\n" + more);
  run.run();
  CHECK(run.total("iommu", "walks") == walks);
  if (translations != nullptr) *translations = static_cast<std::int64_t>(run.total("gmmu", "total_latency"));
  return picoseconds(run.kernel_time());
}

}  // namespace

TEST_CASE(
    "first touch: mapped by the IOMMU, a page costs two of its cycles more than a walk; by the driver, its "
    "time") {
  std::int64_t translations = 0;  // all eight, from the GMMU to the IOMMU and back
  auto const mapped = touch_eight("memory.placement = \"contiguous\"\n", 100, 8, &translations);
  std::string const first_touch = "memory.placement = \"first_touch\"\nmemory.first_touch_by = ";
  CHECK(touch_eight(first_touch + "\"iommu\"\n") - mapped == 8 * 2'000);
  CHECK(touch_eight(first_touch +
                    "\"iommu\"\ndriver.fault_latency = \"1ms\"\ndriver.notify_latency = \"1ms\"\n") -
            mapped ==
        8 * 2'000);
  // Plus the replay, one cycle after the driver's response and over the path of a translation, and a second
  // request: look-up in the L1 TLB, to the L2 TLB, look-up there, to the GMMU, and back.
  CHECK(touch_eight(
            first_touch + "\"driver\"\ndriver.fault_latency = \"3us\"\ndriver.notify_latency = \"200ns\"\n",
            100, 16) -
            mapped ==
        8 * (3'000'000 + 2 * 200'000 + 1'000 + 1'000 + 4'000 + 4 * 4'000) + translations);
}

TEST_CASE("walk latency: each walk of the IOMMU takes exactly the configured cycles") {
  std::string const contiguous = "memory.placement = \"contiguous\"\n";
  CHECK(touch_eight(contiguous, 350) - touch_eight(contiguous) == 8 * 250'000);
  CHECK(touch_eight(contiguous, 1) - touch_eight(contiguous) == -8 * 99'000);
}

}  // namespace placement_test
