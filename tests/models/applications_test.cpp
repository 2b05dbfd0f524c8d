// SPDX-License-Identifier: Apache-2.0
// Several concurrent applications on a whole machine: location of their pages and lines, their shares of the
// SMs, and their statistics.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "run_model.hpp"

namespace applications_test {

using namespace farfault;
using test::application_on;
using test::each;
using test::ModelRun;
using test::OneMore;

namespace {

// FIR on four GPUs of eight SMs; BFS runs concurrently.
std::string fir(std::string const& more = {}) {
  return "include = [\"paper-gmmu-bypass\"]\ngpu.sms = 8\nworkload.name = \"fir\"\n"
         "workload.fir.size = \"1 MiB\"\n" +
         (more.empty() ? "memory.placement = \"interleave\"\n" : more);
}
constexpr char const* kBfs = "rmat.scale = 11\nrmat.edge_factor = 8\n";

std::vector<std::uint32_t> range(std::uint32_t first, std::uint32_t end) {
  std::vector<std::uint32_t> all;
  for (auto i = first; i < end; ++i) all.push_back(i);
  return all;
}

struct Found {
  std::uint64_t frames_of_two = 0;  // frames with pages of more than one application
  std::uint64_t wrong_pages = 0;    // TLB entries of SMs for pages of an application that does not run there
  std::uint64_t wrong_lines = 0;    // L1 lines, present or requested, in frames of another application
  std::uint64_t entries = 0;        // entries inspected
  std::uint64_t lines = 0;
};

// Frames and translations held by the SMs. Each SM runs one application.
void look(ModelRun& run, Found& found) {
  std::map<PhysAddr, std::uint32_t> space_of;
  each<PagingDriver>(run.system(), [&](PagingDriver const& d) {
    d.state().memory.table().each_page([&](std::uint64_t page, PageTranslation const& t) {
      found.frames_of_two += space_of.emplace(t.frame, space_of_page(page, 12)).second ? 0 : 1;
    });
  });
  each<Sm>(run.system(), [&](Sm const& sm) {
    std::uint32_t space = 0;
    for (auto const& a : run.applications())
      if (std::ranges::find(a.sms, sm.spec().index) != a.sms.end()) space = a.space;
    auto const& s = sm.state();
    s.load_store.translation.tlb()->each_entry([&](std::uint64_t page, PageTranslation const&) {
      ++found.entries;
      found.wrong_pages += space_of_page(page, 12) != space ? 1 : 0;
    });
    auto const check = [&](std::uint64_t line) {
      ++found.lines;
      auto const owner = space_of.find(line * sm.spec().line_bytes >> 12 << 12);
      found.wrong_lines += owner == space_of.end() || owner->second != space ? 1 : 0;
    };
    s.load_store.l1.each_line(check);
    for (std::uint32_t i = 0; i < s.load_store.l1_mshrs.entries(); ++i)
      if (s.load_store.l1_mshrs.key(i) != MshrTable<std::uint32_t>::kFree)
        check(s.load_store.l1_mshrs.key(i));
  });
}

// Requests of warps and page walks queued at memory. `of_others`: requests of warps to a frame of another
// space than the requester's. `of_none`: requests whose requester is not an application. The copy that
// moves a page may still read the old frame; it is not a warp's request.
struct Requests {
  std::uint64_t seen = 0;
  std::uint64_t of_others = 0;
  std::uint64_t of_none = 0;
};
void look_at_memory(ModelRun& run, Requests& found) {
  std::map<PhysAddr, std::uint32_t> space_of;
  each<PagingDriver>(run.system(), [&](PagingDriver const& d) {
    d.state().memory.table().each_page([&](std::uint64_t page, PageTranslation const& t) {
      space_of.emplace(t.frame, space_of_page(page, 12));
    });
  });
  each<DramChannel>(run.system(), [&](DramChannel const& c) {
    for (auto const& pending : c.state().queue) {
      auto const& r = pending.request.requester;
      if (r.kind != RequestKind::data && !is_walk(r.kind)) continue;
      ++found.seen;
      found.of_none +=
          r.application >= run.applications().count() || run.applications()[r.application].space != r.space;
      auto const owner = space_of.find(pending.request.address >> 12 << 12);
      if (r.kind == RequestKind::data && owner != space_of.end() && owner->second != r.space)
        ++found.of_others;
    }
  });
}

std::uint64_t of(ModelRun& run, std::string const& kind, std::string const& stat, std::uint32_t application) {
  std::uint64_t sum = 0;
  auto& system = run.system();
  for (ComponentId id = 0; id < system.component_count(); ++id) {
    auto const& c = system.component(id);
    auto const groups = c.stat_groups();
    std::size_t size = 0;
    for (auto const& g : groups) size += g.values();
    std::vector<std::uint64_t> values(size);
    if (c.kind() != kind) continue;
    c.sample(values.data());
    auto const* at = values.data();
    for (auto const& g : groups)
      for (auto const& s : g.stats) {
        if (g.kind == kind + ".by_application" && s.name == stat &&
            g.application == run.applications()[application].name)
          sum += *at;
        at += s.bins;
      }
  }
  return sum;
}

}  // namespace

TEST_CASE("no access of an application reaches a frame of another one, for any sharing of SMs") {
  for (std::uint32_t const split : {4U, 1U, 6U}) {
    CAPTURE(split);
    for (auto const* placement : {"interleave", "first_touch"}) {
      ModelRun run(fir("memory.placement = \"" + std::string(placement) + "\"\n"),
                   application_on("filter", 0, range(0, split)),
                   {{"bfs", kBfs, application_on("graph", 1, range(split, 8))}});
      Found found;
      for (auto at = Time{2us}; run.engine().run_until(at) != RunState::drained; at += 2us) look(run, found);
      look(run, found);
      CHECK(found.frames_of_two == 0);
      CHECK(found.wrong_pages == 0);
      CHECK(found.wrong_lines == 0);
      CHECK(found.entries > 1000);
      CHECK(found.lines > 1000);
    }
  }
}

TEST_CASE("a request of an application on shared SMs has its number at memory, and reaches only its frames") {
  for (auto const* more : {"memory.placement = \"interleave\"\n",
                           "memory.placement = \"interleave\"\nmemory.remote_touch = \"migrate\"\n",
                           "memory.placement = \"first_touch\"\nmemory.first_touch_by = \"driver\"\n"}) {
    CAPTURE(std::string(more));
    ModelRun run(fir(std::string("gpu.dram.bandwidth = \"500 MB/s\"\n") + more),
                 application_on("filter", 0, {}),
                 {{"bfs", kBfs, application_on("graph", 1, {})}});  // slow enough that requests wait
    Requests found;
    for (auto at = Time{500ns}; run.engine().run_until(at) != RunState::drained; at += 500ns)
      look_at_memory(run, found);
    CHECK(found.seen > 100);
    CHECK(found.of_others == 0);
    CHECK(found.of_none == 0);
  }
}

TEST_CASE("applications that share all SMs each do the same work as alone: instructions, accesses, kernels") {
  ModelRun alone(fir());
  alone.run();
  ModelRun graph(
      "include = [\"paper-gmmu-bypass\"]\ngpu.sms = 8\nworkload.name = \"bfs\"\n"
      "memory.placement = \"interleave\"\nworkload.bfs.rmat.scale = 11\nworkload.bfs.rmat.edge_factor = 8\n");
  graph.run();
  for (auto const& [filter_sms, graph_sms] :
       {std::pair{range(0, 0), range(0, 0)}, std::pair{range(0, 2), range(2, 8)},
        std::pair{range(0, 6), range(3, 8)}}) {
    ModelRun both(fir(), application_on("filter", 0, filter_sms),
                  {{"bfs", kBfs, application_on("graph", 1, graph_sms)}});
    both.run();
    for (auto const* stat : {"instructions", "transactions", "stores", "blocks", "vector_instructions"}) {
      CAPTURE(stat);
      CHECK(of(both, "sm", stat, 0) == alone.total("sm", stat));
      CHECK(of(both, "sm", stat, 1) == graph.total("sm", stat));
      CHECK(of(both, "sm", stat, 0) + of(both, "sm", stat, 1) == both.total("sm", stat));
    }
    CHECK(of(both, "host", "kernels", 0) == 1);
    CHECK(of(both, "host", "kernels", 1) == graph.total("host", "kernels"));
    CHECK(of(both, "dispatcher", "blocks_dispatched", 1) == graph.total("dispatcher", "blocks_dispatched"));
  }
}

TEST_CASE("a single application in a list gives exactly the workload's result") {
  ModelRun plain(fir());
  plain.run();
  ModelRun listed(fir(), application_on("filter", 0, range(0, 8)), {});
  listed.run();
  CHECK(plain.kernel(0).finished == listed.kernel(0).finished);
  CHECK(plain.engine().state_digest() == listed.engine().state_digest());
  // Another address space has another root, so walks read other lines.
  ModelRun elsewhere(fir(), application_on("filter", 3, {}), {});
  elsewhere.run();
  for (auto const* stat : {"instructions", "stores", "transactions", "blocks"})
    CHECK(plain.total("sm", stat) == elsewhere.total("sm", stat));
}

TEST_CASE("an application starts at its start time and repeats its kernels the configured number of times") {
  auto late = application_on("late", 1, {});
  late.start = Time{50us};
  late.repeats = 3;
  ModelRun run(fir(), application_on("filter", 0, {}), {{"fir", "size = \"256 KiB\"", late}});
  run.run();
  std::vector<KernelRecord> of_late;
  for (auto const& r : run.assembly().host().state().records)
    if (run.applications().application_of(r.kernel) == 1) of_late.push_back(r);
  REQUIRE(of_late.size() == 3);
  CHECK(of_late[0].launched == Time{50us});
  for (std::uint32_t i = 0; i < 3; ++i) {
    CHECK(of_late[i].kernel == 1);
    CHECK(of_late[i].launch == i);
    if (i != 0) CHECK(of_late[i].launched == of_late[i - 1].finished);
  }
}

TEST_CASE("applications on separate GPUs have their pages there, and run as each does alone") {
  auto first = application_on("first", 0, {});
  first.gpus = {0, 1};
  auto second = application_on("second", 1, {});
  second.gpus = {2, 3};
  ModelRun both(fir(), first, {{"fir", "size = \"1 MiB\"", second}});
  both.run();
  each<PagingDriver>(both.system(), [&](PagingDriver const& d) {
    d.state().memory.table().each_page([&](std::uint64_t page, PageTranslation const& t) {
      CHECK(device_of(t.frame) / 2 == space_of_page(page, 12));
    });
  });
  each<Sm>(both.system(), [&](Sm const& sm) {
    CHECK(sm.state().stats[sm.spec().device < 2 ? 1 : 0].instructions() == 0);
    CHECK(sm.state().stats[sm.spec().device < 2 ? 0 : 1].instructions() != 0);
  });
}

TEST_CASE("two applications with buffers at the same addresses have separate pages and tables") {
  ModelRun run(fir(), application_on("a", 0, range(0, 4)), {});
  run.run();
  std::uint64_t pages = 0;
  each<PagingDriver>(run.system(),
                     [&](PagingDriver const& d) { pages = d.state().memory.table().mapped_pages(); });
  ModelRun two(fir(), application_on("a", 0, range(0, 4)),
               {{"fir", "size = \"1 MiB\"", application_on("b", 1, range(4, 8))}});
  two.run();
  each<PagingDriver>(two.system(), [&](PagingDriver const& d) {
    CHECK(d.state().memory.table().mapped_pages() == 2 * pages);
    CHECK(d.state().memory.table().nodes() % 2 == 0);  // the spaces' tables share nothing
  });
}

namespace {

// Rows of a driver's table that belong to an application.
std::uint64_t rows_of(ModelRun& run, std::uint32_t application, bool migrations) {
  std::uint64_t n = 0;
  each<PagingDriver>(run.system(), [&](PagingDriver const& d) {
    for (auto const& r : d.state().records.first_touches())
      n += !migrations && r.application == application ? 1 : 0;
    for (auto const& r : d.state().records.migrations())
      n += migrations && r.application == application ? 1 : 0;
  });
  return n;
}

// Per-application fault statistics; `keeper` is the component with the fault records.
void check_faults(ModelRun& run, std::string const& keeper) {
  struct Statistic {
    std::string kind, name;
  };
  for (auto const& s : std::vector<Statistic>{{"iommu", "requests"},
                                              {"iommu", "tlb_hits"},
                                              {"iommu", "tlb_misses"},
                                              {"iommu", "merged_misses"},
                                              {"driver", "page_faults"},
                                              {"driver", "pages_mapped"},
                                              {"driver", "migrations"},
                                              {"driver", "migration_time"},
                                              {keeper, "merged_faults"}}) {
    CAPTURE(s.kind);
    CAPTURE(s.name);
    CHECK(of(run, s.kind, s.name, 0) + of(run, s.kind, s.name, 1) == run.total(s.kind, s.name));
  }
  for (auto const name : run.recorded_faults())
    CHECK(of(run, keeper, std::string(name), 0) + of(run, keeper, std::string(name), 1) ==
          run.total(keeper, name));
  for (std::uint32_t a = 0; a < 2; ++a) {
    CAPTURE(a);
    CHECK(of(run, "iommu", "requests", a) == of(run, "gmmu", "iommu_requests", a));
    CHECK(of(run, "iommu", "tlb_hits", a) + of(run, "iommu", "tlb_misses", a) ==
          of(run, "iommu", "requests", a));
    std::uint64_t recorded = 0;
    for (auto const name : run.recorded_faults()) recorded += of(run, keeper, std::string(name), a);
    CHECK(recorded == of(run, "driver", "page_faults", a));
    CHECK(of(run, "driver", "page_faults", a) > 0);
    CHECK(rows_of(run, a, false) == of(run, "driver", "pages_mapped", a));
    CHECK(rows_of(run, a, true) == of(run, "driver", "migrations", a));
  }
  CHECK(rows_of(run, 0, false) + rows_of(run, 1, false) == run.total("driver", "pages_mapped"));
  CHECK(rows_of(run, 0, true) + rows_of(run, 1, true) == run.total("driver", "migrations"));
}

constexpr char const* kByDriver =
    "memory.placement = \"first_touch\"\nmemory.first_touch_by = \"driver\"\ndriver.fault_latency = "
    "\"200ns\"\n";
constexpr char const* kMoves = "memory.remote_touch = \"migrate\"\n";

}  // namespace

TEST_CASE("faults, first touches and migrations count for the application with the pages") {
  for (auto const* path : {"iommu", "gpu"})
    for (bool const moves : {false, true}) {
      CAPTURE(std::string(path));
      CAPTURE(moves);
      ModelRun run(
          fir(kByDriver + std::string(moves ? kMoves : "") + "memory.fault_path = \"" + path + "\"\n"),
          application_on("filter", 0, {}), {{"bfs", kBfs, application_on("graph", 1, {})}});
      run.run();
      check_faults(run, *path == 'g' ? "gmmu" : "iommu");
      CHECK((run.total("driver", "migrations") > 0) == moves);
      each<PagingDriver>(run.system(), [&](PagingDriver const& d) {
        CHECK(d.state().records.first_touches().size() > 100);
        for (auto const& r : d.state().records.first_touches())
          CHECK(r.application == space_of_page(r.page, 12));
        for (auto const& r : d.state().records.migrations())
          CHECK(r.application == space_of_page(r.page, 12));
        // The tables with these rows have a column for the application.
        auto const tables = d.tables();
        CHECK(tables.size() == (moves ? 3 : 2));  // and final page placement
        for (auto const& t : tables)
          CHECK(std::ranges::find(t.columns, "application", &ColumnInfo::name) != t.columns.end());
      });
    }
}

TEST_CASE("first touches mapped by the IOMMU count for the application with the pages") {
  ModelRun run(fir("memory.placement = \"first_touch\"\n"), application_on("filter", 0, {}),
               {{"bfs", kBfs, application_on("graph", 1, {})}});
  run.run();
  check_faults(run, "iommu");
  each<PagingDriver>(run.system(), [&](PagingDriver const& d) {
    for (auto const& r : d.state().records.first_touches()) CHECK(r.application == space_of_page(r.page, 12));
  });
}

// Each application has its own GPUs, so the GPU identifies the application of an access.
TEST_CASE("in a shared address space, a fault counts for the application that made the access") {
  for (auto const* path : {"iommu", "gpu"}) {
    CAPTURE(std::string(path));
    auto first = application_on("first", 0, {});
    first.gpus = {0, 1};
    auto second = application_on("second", 0, {});
    second.gpus = {2, 3};
    ModelRun run(fir(kByDriver + std::string(kMoves) + "memory.fault_path = \"" + path + "\"\n"), first,
                 {{"fir", "size = \"1 MiB\"", second}});
    run.run();
    check_faults(run, *path == 'g' ? "gmmu" : "iommu");
    std::uint64_t moved_to[2] = {};
    each<PagingDriver>(run.system(), [&](PagingDriver const& d) {
      for (auto const& r : d.state().records.first_touches()) CHECK(r.application == r.gpu / 2);
      for (auto const& r : d.state().records.migrations()) CHECK(r.application == device_of(r.to) / 2U);
      for (auto const& r : d.state().records.migrations()) ++moved_to[r.application];
    });
    CHECK(moved_to[0] > 0);
    CHECK(moved_to[1] > 0);
  }
}

TEST_CASE("applications: the driver has the GPUs of each application") {
  auto first = application_on("first", 0, {});
  first.gpus = {1, 2};
  ModelRun run(fir(), first, {OneMore{"bfs", kBfs, application_on("second", 1, {})}});
  CHECK(run.assembly().instances()[0].driver->spec().gpus_of_application ==
        std::vector<std::vector<std::uint32_t>>{{1, 2}, {0, 1, 2, 3}});
}

TEST_CASE("applications: a GPU or SM that does not exist is rejected in one sentence") {
  auto const refused = [](Application const& second, std::string const& sentence) {
    CHECK_THROWS_WITH_AS(
        ModelRun(fir(), application_on("first", 0, {}), {{"fir", "size = \"1 MiB\"", second}}),
        sentence.c_str(), UserError);
  };
  auto on_gpus = application_on("second", 1, {});
  on_gpus.gpus = {2, 9};
  refused(on_gpus, "application 'second' is assigned to GPU 9, but the machine has 4, numbered from 0");
  refused(application_on("second", 1, range(6, 9)),
          "application 'second' is assigned to SM 8, but a GPU has 8, numbered from 0");
}

}  // namespace applications_test
