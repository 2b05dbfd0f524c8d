// SPDX-License-Identifier: Apache-2.0
// Programs on a whole machine: copies between the host and the GPUs, kernels in streams.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "farfault/workloads/allocations.hpp"
#include "farfault/workloads/copies.hpp"
#include "run_model.hpp"

namespace program_test {

using namespace farfault;
using test::ModelRun;

namespace {

std::string const kFir =
    "include = [\"paper-gmmu-bypass\"]\ngpu.sms = 8\nworkload.name = \"fir\"\n"
    "workload.fir.size = \"1 MiB\"\n";

std::uint64_t bytes_of(Workload const& w, bool host_written) {
  std::uint64_t sum = 0;
  for (auto const& b : w.buffers())
    if (b.host_written == host_written) sum += b.bytes;
  return sum;
}

std::string chase(std::string const& more) {
  return "include = [\"paper-gmmu-bypass\"]\nmachine.topology = \"single-gpu\"\n"
         "memory.placement = \"interleave\"\nworkload.name = \"pointer_chase\"\n"
         "workload.pointer_chase.elements = 64\nworkload.pointer_chase.hops = 2000\n" +
         more;
}

Time end_of(ModelRun const& run) {
  return run.assembly().host(0).state().runs[0].last_end;
}

}  // namespace

TEST_CASE(
    "copies: every byte written by the host is copied to the GPU with its page before the kernel; results "
    "are copied back") {
  for (auto const* placement : {"interleave", "contiguous"}) {
    ModelRun run(kFir + "memory.placement = \"" + placement + "\"\n", workloads::add_copies);
    run.run();
    auto const& w = *run.applications()[0].workload;
    auto const in = bytes_of(w, true), out = bytes_of(w, false);
    CHECK(run.total("driver", "copied_bytes") >= in + out);
    CHECK(run.total("driver", "copied_bytes") < in + out + 64 * w.buffers().size());
    CHECK(run.total("copy_engine", "lines_in") >= in / 64);
    CHECK(run.total("copy_engine", "lines_in") <= in / 64 + w.buffers().size());
    CHECK(run.total("copy_engine", "lines_out") >= out / 64);
    auto const& copies = run.assembly().host(0).state().orders;
    REQUIRE(copies.size() == w.buffers().size());
    auto const kernel = run.kernel(0);
    CHECK(copies.back().started == kernel.finished);
    CHECK(copies[copies.size() - 2].finished == kernel.launched);
    CHECK(run.total("host", "copies") == copies.size());
  }
}

TEST_CASE("copies: a long copy gets the bandwidth of the link with enough outstanding lines") {
  // One GPU: the bound is the CPU's link and 4096 outstanding lines of 64 bytes.
  ModelRun run(
      "include = [\"paper-gmmu-bypass\"]\nmachine.topology = \"single-gpu\"\nmemory.placement = "
      "\"interleave\"\n"
      "gpu.copy_engine.window = 4096\ndriver.migrations = 64\nworkload.name = \"vectoradd\"\n"
      "workload.vectoradd.elements = 524288\n",
      workloads::add_copies);
  run.run();
  auto const& copies = run.assembly().host(0).state().orders;
  double const seconds = static_cast<double>(picoseconds(copies[0].finished - copies[0].started)) * 1e-12;
  auto const bytes = static_cast<double>(run.applications()[0].workload->buffers()[0].bytes);
  double link = 0;
  for (auto const& l : run.machine().links)
    link = std::max(link, static_cast<double>(l.forward.bytes_per_second));
  MESSAGE("copy of ", bytes, " bytes: ", bytes / seconds / 1e9, " GB/s, of ", link / 1e9, " of the link");
  CHECK(bytes / seconds > 0.6 * link * 64 / 88);
  CHECK(bytes / seconds < link);
}

TEST_CASE(
    "copies: unmapped pages are left to their first touch, and results are copied from their current "
    "location") {
  ModelRun run(kFir + "memory.placement = \"first_touch\"\n", workloads::add_copies);
  run.run();
  CHECK(run.total("copy_engine", "lines_in") == 0);
  CHECK(run.total("copy_engine", "lines_out") >= bytes_of(*run.applications()[0].workload, false) / 64);
}

TEST_CASE("copies: insufficient memory for the host's pages and the pages of first touches is rejected") {
  // Frames occupy 7/8 of each memory: 1 MiB on each of four GPUs, and the CPU's.
  auto const config = [](std::string const& cpu) {
    return kFir + "memory.placement = \"first_touch\"\nmemory.first_touch_by = \"driver\"\n" +
           "workload.fir.size = \"5 MiB\"\ngpu.dram.capacity = \"1 MiB\"\ncpu.dram.capacity = \"" + cpu +
           "\"\n";
  };
  auto text = config("6 MiB");
  text.erase(text.find("workload.fir.size"), text.find("memory.placement") - text.find("workload.fir.size"));
  std::string refused;
  try {
    ModelRun(text, workloads::add_copies).run();
  } catch (UserError const& e) {
    refused = e.what();
  }
  CHECK(refused.find("and the host's buffers of copies exceed") != std::string::npos);
  CHECK(refused.find("; increase gpu.dram.capacity or cpu.dram.capacity") != std::string::npos);
  text.replace(text.find("6 MiB"), 5, "8 MiB");
  ModelRun enough(text, workloads::add_copies);
  enough.run();
  CHECK(enough.assembly().host(0).has_finished(0));
}

TEST_CASE("copies: the result is the same on any partitions, also with migrations") {
  for (std::string const more : {"memory.placement = \"interleave\"\n",
                                 "memory.placement = \"interleave\"\nmemory.remote_touch = \"migrate\"\n",
                                 "memory.placement = \"first_touch\"\nmemory.first_touch_by = "
                                 "\"driver\"\nmemory.first_touch_copy = true\n",
                                 "memory.placement = \"contiguous\"\nmemory.large_pages = "
                                 "\"all\"\nmemory.large_page_size = \"2 MiB\"\n"}) {
    ModelRun one(kFir + more, workloads::add_copies, {}, topologies::Granularity::one);
    ModelRun split(kFir + more, workloads::add_copies, {}, topologies::Granularity::split_gpu);
    one.run();
    split.run();
    CHECK(one.assembly().host(0).has_finished(0));
    CHECK(one.engine().state_digest() == split.engine().state_digest());
    CHECK(one.assembly().host(0).state().orders.size() == 3);
  }
}

TEST_CASE("streams: chains in separate streams are walked concurrently, in one stream one after the other") {
  auto const alone = picoseconds(end_of(ModelRun(chase("")).run()).time_since_epoch());
  auto const in_turn =
      picoseconds(end_of(ModelRun(chase("workload.pointer_chase.chains = 4\n")).run()).time_since_epoch());
  ModelRun run(chase("workload.pointer_chase.chains = 4\nworkload.pointer_chase.streams = 4\n"));
  run.run();
  auto const at_once = picoseconds(end_of(run).time_since_epoch());
  // After the first chain, chains find parts of the page table in caches.
  CHECK(in_turn > 7 * alone / 2);
  CHECK(in_turn <= 4 * alone);
  CHECK(at_once < 11 * alone / 10);
  CHECK(at_once >= alone);
  for (std::size_t k = 1; k < 4; ++k) CHECK(run.kernel(k).launched == run.kernel(0).launched);
}

TEST_CASE(
    "streams: kernels of one application that share SMs complete all their blocks, in any order of streams") {
  // FIR twice: the second kernel runs in its own stream over the same buffers.
  auto const both = [](Workload& w) {
    std::vector<Operation> operations;
    for (std::uint32_t k = 0; k < w.kernel_count(); ++k) operations.push_back(Operation::launch(k, k));
    w.set_operations(operations);
  };
  std::string const stencil =
      "include = [\"paper-gmmu-bypass\"]\ngpu.sms = 8\nmemory.placement = \"interleave\"\n"
      "workload.name = \"kmeans\"\nworkload.kmeans.size = \"256 KiB\"\ngpu.l2_cache.write_back_at_kernel_end "
      "= "
      "true\n";
  ModelRun in_turn(stencil);
  ModelRun at_once(stencil, both);
  in_turn.run();
  at_once.run();
  CHECK(at_once.applications().streams() > 1);
  for (auto const* stat : {"blocks", "instructions", "transactions"})
    CHECK(at_once.total("sm", stat) == in_turn.total("sm", stat));
  CHECK(at_once.total("host", "kernels") == in_turn.total("host", "kernels"));
  CHECK(end_of(at_once) < end_of(in_turn));
}

namespace {

void copies_and_allocations(Workload& w) {
  workloads::add_copies(w);
  workloads::add_allocations(w);
}

std::uint64_t pages_of(Workload const& w) {
  std::uint64_t pages = 0;
  for (auto const& b : w.buffers()) pages += (b.bytes + 4095) / 4096;
  return pages;
}

// No page is mapped, and no TLB has an entry.
void check_all_is_freed(ModelRun& run) {
  auto& system = run.system();
  for (ComponentId id = 0; id < system.component_count(); ++id) {
    auto const& c = system.component(id);
    if (auto const* driver = dynamic_cast<PagingDriver const*>(&c))
      CHECK(driver->state().memory.table().mapped_pages() == 0);
    if (auto const* iommu = dynamic_cast<Iommu const*>(&c)) {
      CHECK(iommu->state().table.mapped_pages() == 0);
      iommu->state().tlb->each_entry([](std::uint64_t, PageTranslation const&) { CHECK(false); });
    }
    if (auto const* gmmu = dynamic_cast<Gmmu const*>(&c)) CHECK(gmmu->state().table.mapped_pages() == 0);
    if (auto const* tlb = dynamic_cast<L2Tlb const*>(&c))
      tlb->state().tlb->each_entry([](std::uint64_t, PageTranslation const&) { CHECK(false); });
    if (auto const* sm = dynamic_cast<Sm const*>(&c))
      sm->state().load_store.translation.tlb()->each_entry(
          [](std::uint64_t, PageTranslation const&) { CHECK(false); });
  }
}

}  // namespace

TEST_CASE(
    "allocations: kernels find every page mapped at its planned device, and no page remains after its free") {
  for (std::string const placement : {"interleave", "contiguous", "cpu"}) {
    ModelRun run(kFir + "memory.placement = \"" + placement + "\"\n", workloads::add_allocations);
    run.run();
    auto const pages = pages_of(*run.applications()[0].workload);
    CHECK(run.total("driver", "allocated_pages") == pages);
    CHECK(run.total("driver", "freed_pages") == pages);
    CHECK(run.total("driver", "page_faults") == 0);
    CHECK(run.total("host", "allocations") == run.applications()[0].workload->buffers().size());
    check_all_is_freed(run);
    // The frames equal the frames of a run whose memory is allocated from the start.
    auto const frees_nothing = [](Workload& w) {
      auto operations = w.operations();
      for (auto const& b : w.buffers())
        operations.insert(operations.begin(), Operation::allocate(b.base, b.bytes));
      std::reverse(operations.begin(), operations.begin() + static_cast<std::ptrdiff_t>(w.buffers().size()));
      w.set_operations(operations);
    };
    ModelRun keeps(kFir + "memory.placement = \"" + placement + "\"\n", frees_nothing);
    keeps.run();
    ModelRun there(kFir + "memory.placement = \"" + placement + "\"\n");
    there.run();
    auto const table_of = [](ModelRun& r) -> PageTable const& {
      return r.assembly().instances()[0].driver->state().memory.table();
    };
    CHECK(table_of(keeps).mapped_pages() == pages);
    for (auto const& b : run.applications()[0].workload->buffers())
      for (auto page = b.base >> 12; page << 12 < b.base + b.bytes; ++page)
        CHECK(table_of(keeps).find(page) == table_of(there).find(page));
    CHECK(keeps.kernel_time() == run.kernel_time());
  }
}

TEST_CASE("allocations: pages left to their first touch are mapped by faults, and freed like the others") {
  for (std::string const by : {"iommu", "driver"}) {
    ModelRun run(kFir + "memory.placement = \"first_touch\"\nmemory.first_touch_by = \"" + by + "\"\n",
                 workloads::add_allocations);
    run.run();
    CHECK(run.total("driver", "allocated_pages") == 0);
    CHECK(run.total("driver", "pages_mapped") == run.total("driver", "freed_pages"));
    CHECK(run.total("driver", "freed_pages") > 0);
    check_all_is_freed(run);
  }
}

TEST_CASE("allocations: large pages are mapped as a whole, and freed with all their lines and translations") {
  auto text = kFir +
              "memory.placement = \"interleave\"\nmemory.large_pages = \"all\"\n"
              "memory.large_page_size = \"2 MiB\"\n";
  text.replace(text.find("1 MiB"), 5, "4 MiB");
  ModelRun run(text, workloads::add_allocations);
  run.run();
  CHECK(run.total("driver", "allocated_pages") == run.total("driver", "freed_pages"));
  check_all_is_freed(run);
}

TEST_CASE("allocations: the result is the same on any partitions, with copies, repeats and migrations") {
  for (std::string const more : {"memory.placement = \"interleave\"\n",
                                 "memory.placement = \"interleave\"\nmemory.remote_touch = \"migrate\"\n",
                                 "memory.placement = \"first_touch\"\nmemory.first_touch_by = "
                                 "\"driver\"\n"}) {
    ModelRun one(kFir + more, copies_and_allocations, {}, topologies::Granularity::one);
    ModelRun split(kFir + more, copies_and_allocations, {}, topologies::Granularity::split_gpu);
    one.run();
    split.run();
    check_all_is_freed(one);
    check_all_is_freed(split);
    CHECK(one.engine().state_digest() == split.engine().state_digest());
    CHECK(one.assembly().host(0).has_finished(0));
  }
}

TEST_CASE("allocations: a look-up of the IOMMU overtaken by the GMMU maps no freed page") {
  for (std::string const by : {"iommu", "driver"}) {
    // The router sends to both, and the IOMMU is slow.
    ModelRun run(kFir +
                     "memory.placement = \"contiguous\"\ngpu.router.policy = \"gmmu_bypass\"\n"
                     "gpu.router.gmmu_bypass.epoch = \"1 us\"\ngpu.router.gmmu_bypass.t1 = 1.0\n"
                     "gpu.router.gmmu_bypass.t2 = 0.0\niommu.walk_latency = 20000\n"
                     "memory.first_touch_by = \"" +
                     by + "\"\n",
                 workloads::add_allocations);
    run.run();
    CHECK(run.total("gmmu", "late_responses") > 0);
    CHECK(run.total("driver", "pages_mapped") == 0);
    CHECK(run.total("driver", "allocated_pages") == run.total("driver", "freed_pages"));
    check_all_is_freed(run);
  }
}

TEST_CASE("allocations: a kernel that accesses freed memory never ends, and its SMs report that they wait") {
  for (std::string const more :
       {"memory.first_touch_by = \"iommu\"\n", "memory.first_touch_by = \"driver\"\n"}) {
    auto const frees_first = [](Workload& w) {
      std::vector<Operation> operations;
      for (auto const& b : w.buffers()) operations.push_back(Operation::allocate(b.base, b.bytes));
      for (auto const& b : w.buffers()) operations.push_back(Operation::free(b.base, b.bytes));
      operations.push_back(Operation::launch(0));
      w.set_operations(operations);
    };
    ModelRun run(kFir + "memory.placement = \"interleave\"\n" + more, frees_first);
    run.run();
    CHECK_FALSE(run.assembly().host(0).has_finished(0));
    CHECK(run.total("driver", "unallocated_faults") > 0);
    CHECK(run.total("driver", "pages_mapped") == 0);
    std::string waiting;
    auto& system = run.system();
    for (ComponentId id = 0; id < system.component_count(); ++id)
      if (dynamic_cast<Sm const*>(&system.component(id)) != nullptr)
        waiting += system.component(id).waiting_for();
    CHECK(waiting.find("fault") != std::string::npos);
  }
}

TEST_CASE("allocations: allocations beyond all memories are rejected before the run") {
  auto const refused = [](std::string const& text, std::function<void(Workload&)> change) {
    try {
      ModelRun run(text, std::move(change));
    } catch (UserError const& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  auto text = kFir + "memory.placement = \"interleave\"\ngpu.dram.capacity = \"1 MiB\"\n" +
              "cpu.dram.capacity = \"1 MiB\"\n";
  text.replace(text.find("1 MiB"), 5, "16 MiB");
  auto const small = refused(text, workloads::add_allocations);
  INFO(small);
  CHECK(small.find("workload 'fir' needs") == 0);
}

}  // namespace program_test
