# SPDX-License-Identifier: Apache-2.0
"""The bugs of planted_bugs.py, in parts of the model: sources, the tests that must find a bug in each, and the bugs.

A bug is: what it does, the file, a text that occurs once in it, and its replacement.
"""
PAGING = "components/paging/src/"
EXECUTOR = PAGING + "transition_executor.cpp"
ROWS = "components/paging/include/farfault/paging/page_transition.hpp"

COUNTERS = "components/fabric/src/access_counters.cpp"
TABLE = "components/fabric/include/farfault/fabric/counter_table.hpp"
AT_PORT = "components/fabric/src/counted_accesses.cpp"
SERVICE = PAGING + "counter_client.cpp"
LOCKS = PAGING + "block_locks.cpp"
BATCHES = PAGING + "batch_client.cpp"
WORKER = PAGING + "batch_worker.cpp"
DEADLOCKS = PAGING + "batch_deadlocks.cpp"
STAYS = "components/paging/include/farfault/paging/replay_stays.hpp"
THRASHING = "components/paging/include/farfault/paging/thrashing.hpp"
DRIVER_SPEC = "components/paging/include/farfault/paging/driver_spec.hpp"

CLIENT = "components/translation/include/farfault/translation/translation_client.hpp"
HASH = "components/parts/include/farfault/parts/address_hash.hpp"
IPOLY = "components/parts/src/address_hashes/ipoly.cpp"
XOR = "components/parts/src/address_hashes/xor_groups.cpp"
LAYOUT = "components/memory/include/farfault/memory/memory_layout.hpp"
SLICE = "components/memory/src/l2_slice.cpp"
OF_SLICE = "components/memory/include/farfault/memory/l2_slice.hpp"
LOAD_STORE = "components/compute/src/load_store_unit.cpp"
TLB = "components/translation/src/l2_tlb.cpp"
BANKS = "components/translation/include/farfault/translation/tlb_banks.hpp"
GMMU = "components/translation/src/gmmu.cpp"
WINDOWS = "components/compute/include/farfault/compute/instruction_windows.hpp"
CODE = "components/compute/src/code_layout.cpp"
SM = "components/compute/src/sm.cpp"
MAP = "components/parts/include/farfault/parts/address_map.hpp"
HOP = "components/parts/include/farfault/parts/partition_hop.hpp"
TABLES = "components/translation/src/page_table.cpp"
OF_TABLES = "components/translation/include/farfault/translation/page_table.hpp"
BY_PARTITION = PAGING + "frame_allocators/by_partition.cpp"
BALANCER = "components/translation/src/tlb_balancer.cpp"
MGVM = "components/translation/src/tlb_balances/mgvm.cpp"
DISPATCHER = "components/compute/src/dispatcher.cpp"
OF_DISPATCHER = "components/compute/include/farfault/compute/dispatcher.hpp"
WARPS = "components/compute/include/farfault/compute/warp_contexts.hpp"

# Tests of tests/components that must find a bug in the file.
TESTS_OF = {
    EXECUTOR: ["transition_executor"], ROWS: ["transition_executor"],
    COUNTERS: ["access_counters", "limited_counters"], TABLE: ["limited_counters"], AT_PORT: ["counted_accesses"], SERVICE: ["counter_client"],
    LOCKS: ["block_locks", "batch_workers"], BATCHES: ["batch_workers", "batch_stays", "batch_stories"], WORKER: ["batch_workers", "batch_stays"], DEADLOCKS: ["block_locks", "batch_workers", "batch_stays"],
    STAYS: ["thrashing", "batch_stays"], THRASHING: ["thrashing", "batch_stays"], DRIVER_SPEC: ["batch_stays"],
    CLIENT: ["translation_client", "tlb_levels"], HASH: ["address_hash", "memory_layout"], IPOLY: ["address_hash"], XOR: ["address_hash"], LAYOUT: ["memory_layout"],
    SLICE: ["l2_slice", "walk_reads", "l2_partitions"], OF_SLICE: ["l2_slice", "walk_reads", "l2_partitions"], LOAD_STORE: ["sm", "sm_fault"],
    TLB: ["tlb_levels", "l2_tlb", "tlb_balance"], BANKS: ["tlb_levels"], GMMU: ["tlb_levels", "gmmu"],
    MAP: ["memory_layout", "frame_orders"], HOP: ["tlb_levels"], TABLES: ["translation_parts"], OF_TABLES: ["translation_parts"],
    BY_PARTITION: ["frame_orders"], BALANCER: ["tlb_balance"], MGVM: ["tlb_balance"], DISPATCHER: ["dispatcher"], OF_DISPATCHER: ["dispatcher"],
    WINDOWS: ["instruction_windows", "sm_fetch"], CODE: ["code_layout"], SM: ["sm_fetch"], WARPS: ["warp_contexts", "sm_fetch"],
}
# Sources that are compiled with it: they include the header, or a unity build may have inlined functions of the source into them.
SOURCES_OF = {ROWS: [EXECUTOR], TABLE: [COUNTERS], STAYS: [BATCHES, WORKER, DEADLOCKS], THRASHING: [BATCHES, WORKER, DEADLOCKS], DRIVER_SPEC: [BATCHES, WORKER, DEADLOCKS], OF_SLICE: [SLICE], BANKS: [TLB, GMMU], MAP: [BY_PARTITION], HOP: [TLB], OF_TABLES: [TABLES], OF_DISPATCHER: [DISPATCHER], WINDOWS: [SM], WARPS: [SM], AT_PORT: ["components/fabric/src/device_ports.cpp", "components/fabric/src/fabric.cpp"]}

TRANSITIONS = [
    ("left out: invalidate informs no IOMMU", EXECUTOR, "action = tell(p, row_of(p.transition).invalidates, p.from, true);", ""),
    ("early: the transition goes on after the first acknowledgement", EXECUTOR, "return --p.awaited == 0;", "p.awaited = 0;\n  return true;"),
    ("left out: flush", EXECUTOR, "if (!spec_->flush_moving_pages || device_of(p.from) >= kFirstCpu) return false;", "return false;"),
    ("on the wrong device: the host's frames are flushed as well", EXECUTOR,
     "if (!spec_->flush_moving_pages || device_of(p.from) >= kFirstCpu) return false;", "if (!spec_->flush_moving_pages) return false;"),
    ("left out: collapse keeps the copies of others", EXECUTOR, "if (auto const other = memory.take_copy_elsewhere(page, gpu)) {",
     "if (auto const other = std::optional<PhysAddr>{}) {"),
    ("left out: a dropped copy's frame stays taken", EXECUTOR, "        memory.release({*other, 0});\n", ""),
    ("once instead of until none is left: only the latest copy is dropped", EXECUTOR, "        --p.step;  // until none is left\n", ""),
    ("on the wrong device: the writer's copy is dropped instead of the others", EXECUTOR, "memory.take_copy_elsewhere(page, gpu)) {",
     "memory.take_copy_elsewhere(page, device_of(p.from))) {"),
    ("left out: consent is not asked", EXECUTOR, "      if (p.consents == 0) return false;", "      return false;"),
    ("left out: an evicted page ignores its copies", EXECUTOR, "if (auto const copy = memory.hand_over(page)) {",
     "if (auto const copy = std::optional<PhysAddr>{}) {"),
    ("on the wrong device: an evicted page gets a frame on the GPU", EXECUTOR, "ends_on_host(p.transition) ? spec_->devices.cpu() : gpu);", "gpu);"),
    ("twice: a frame is allocated although the client gave one", EXECUTOR, "      if (p.to != kNoFrame) return false;\n", ""),
    ("left out: a full memory is not refused", EXECUTOR, "if (p.to == kNoFrame) {", "if (false) {"),
    ("left out: only the requested base page of a large page is in flight", EXECUTOR,
     "page - first < std::uint64_t{1} << p.size; ++page)", "page - first < 1; ++page)"),
    ("on the wrong page: a message names the requested base page of a large page", EXECUTOR, "      .page = p.first_page(), .frame = frame,",
     "      .page = p.page(), .frame = frame,"),
    ("left out: the copy", EXECUTOR, "if (p.in_place != 0 || p.from == kNoFrame) return false;", "return false;"),
    ("twice: contents that are in place are copied", EXECUTOR, "if (p.in_place != 0 || p.from == kNoFrame) return false;",
     "if (p.from == kNoFrame) return false;"),
    ("early: the copy is not awaited", EXECUTOR, "      p.awaited = 1;\n      p.copied = 1;\n", "      p.copied = 1;\n"),
    ("on the wrong device: the old frame is mapped", EXECUTOR, "memory.map(page, {p.to, p.size}, now);", "memory.map(page, {p.from, p.size}, now);"),
    ("left out: release", EXECUTOR, "      memory.release({p.from, p.size});\n", ""),
    ("twice: a kept frame is released", EXECUTOR, "if (p.from == kNoFrame || p.from == p.to) return false;", "if (p.from == kNoFrame) return false;"),
    ("twice: the new frame is announced and confirmed", EXECUTOR, "      if (p.confirms != 0) return false;\n", ""),
    ("left out: the home of a copied page stays writable", EXECUTOR, "action = tell(p, MoveStep::remap, read_only(p.from), false);",
     "action = tell(p, MoveStep::remap, p.from, false);"),
    ("left out: a copy is confirmed writable", EXECUTOR, "tell(p, MoveStep::map_copy, read_only(p.to), true)",
     "tell(p, MoveStep::map_copy, p.to, true)"),
    ("early: confirm is not awaited", EXECUTOR, ": tell(p, MoveStep::map, p.to, true);", ": tell(p, MoveStep::map, p.to, false);"),
    ("left out: the fault is not answered", EXECUTOR, "      action.kind = Kind::answer;\n", ""),
    ("early: a row releases the frame before the flush", ROWS, "{invalidate, drain, flush, unmap, release}", "{invalidate, drain, release, flush, unmap}"),
    ("early: an allocated page enters the table before it is confirmed", ROWS, "{allocate, confirm, map}", "{allocate, map, confirm}"),
    ("left out: a page that cannot keep its frame is refused as one that moves", EXECUTOR, "FF_CHECK(may_keep_frame(p.transition),", "FF_CHECK(true,"),
    ("left out: the GPU that keeps a page does not map it again", EXECUTOR,
     "if (p.answers == 0 || device_of(p.to) != gpu) action.message.gpu = device_of(p.to);", ""),
    ("twice: a GPU whose fault is answered maps the page twice", EXECUTOR,
     "if (p.answers == 0 || device_of(p.to) != gpu) action.message.gpu", "action.message.gpu"),
    ("left out: the home of a copied page does not map it again", EXECUTOR, "      action.message.gpu = device_of(p.from);\n", ""),
    ("left out: a GPU that maps a page with copies remotely may get a copy", EXECUTOR,
     "if (memory.is_shared(page)) memory.add_remote_reader(page, gpu);", ""),
    ("left out: a remote mapping of a page with copies is writable", EXECUTOR,
     "tell(p, MoveStep::map_remote, memory.shown(page, p.from), true);", "tell(p, MoveStep::map_remote, p.from, true);"),
    ("on the wrong device: the home maps the page remotely", EXECUTOR, "        action.message.gpu = gpu;\n", "        action.message.gpu = device_of(p.from);\n"),
    ("early: a transition begins in any state", EXECUTOR, "begins_in(p.transition, memory.state_of(p.page())),", "true,"),
]

ACCESS_COUNTERS = [
    ("late: a region notifies after the threshold", COUNTERS, "counter.count < threshold_ ||", "counter.count <= threshold_ ||"),
    ("twice: a region notifies at every access above the threshold", COUNTERS, "  counter.has_notified = 1;\n", ""),
    ("left out: a count does not saturate", COUNTERS, "std::min(counter.count + accesses, kLargestCount)", "counter.count + accesses"),
    ("left out: only the last sub-region is recorded", COUNTERS, "counter.sub_regions |=", "counter.sub_regions ="),
    ("left out: a full buffer takes a notification", COUNTERS, "if (unread_ == capacity_) {", "if (unread_ == capacity_ + 1) {"),
    ("twice: a region whose notification was dropped is reported again", COUNTERS, "    ++counts_.dropped;\n",
     "    ++counts_.dropped;\n    counter.has_notified = 0;\n"),
    ("left out: a read frees one entry of the buffer", COUNTERS, "unread_ -= notifications;", "--unread_;"),
    ("left out: a clear keeps the count", COUNTERS, "  reset(counters_[peer][number]);\n", "  counters_[peer][number].has_notified = 0;\n"),
    ("left out: a dropped counter keeps its count", COUNTERS,
     "if (auto const loser = table_.use({peer, number})) reset(counters_[loser->peer][loser->number]);", "table_.use({peer, number});"),
    ("left out: a clear does not free the counter", COUNTERS, "!table_.remove({peer, number})", "counters_[peer][number].count == 0"),
    ("wrong counter: that of the region accessed last is dropped", TABLE, "entries_[entries_[0].after];", "entries_[entries_[0].before];"),
    ("left out: an access does not renew a region's place", TABLE, "    std::optional<Region> loser;\n",
     "    std::optional<Region> loser;\n    if (entry_of(region) != 0) return loser;\n"),
    ("one more counter than the limit", TABLE, "entries_.size() > limit_", "entries_.size() > limit_ + 1"),
    ("left out: peers share a region's counter", TABLE, "auto& entries = entries_of_[region.peer];", "auto& entries = entries_of_[0];"),
    ("wrong accesses: copies of pages are counted", AT_PORT,
     "if (m.requester.kind == RequestKind::data)\n    count_accesses(spec().nodes", "count_accesses(spec().nodes"),
    ("left out: one line of a train is counted", AT_PORT, "m.address, m.train.lines(), cx", "m.address, 1, cx"),
    ("wrong accesses: requests in transit are counted", AT_PORT, "m.is<RemoteRequest>() && m.route.destination == spec().fabric.node",
     "m.is<RemoteRequest>()"),
    ("wrong GPU: an inbound notification names the GPU that counts", AT_PORT, "spec().device : spec().nodes->gpu_at(peer)",
     "spec().device : spec().device"),
    ("wrong region: a notification names the device that counts", AT_PORT, "physical(device_of(address), reached->first)",
     "physical(spec().device, reached->first)"),
    ("wrong counter: an inbound clear names the memory, not the requester", AT_PORT, "outbound ? device_of(clear.region) : clear.requester",
     "device_of(clear.region)"),
]

COUNTER_SERVICE = [
    ("early: the time of the interrupt is left out", SERVICE, "if (after == Duration::zero()) return read(gpu, t);", "return read(gpu, t);"),
    ("left out: a service reads the whole buffer", SERVICE, "std::min<std::uint64_t>(s.buffer.size(), t.spec.counters.batch)", "s.buffer.size()"),
    ("once instead of until it is empty: a service does not read the buffer again", SERVICE, "  if (s.buffer.empty()) return;\n",
     "  if (s.buffer.empty() || counts_.notifications != 0) return;\n"),
    ("left out: pages in sub-regions without accesses move", SERVICE, "(m.sub_regions & regions.sub_region(s.offset)) == 0", "false"),
    ("wrong page: a page that has left the frame moves", SERVICE, "home && home->base_page(*page, t.spec.page_bits).frame == frame", "home"),
    ("left out: a page in flight is not skipped", SERVICE, "s.transitions.is_in_flight(page) || ", ""),
    ("left out: no transition number is kept for evictions", SERVICE, "s.transitions.free() <= kept", "s.transitions.free() == 0"),
    ("left out: the page is skipped while all numbers are in use", SERVICE, "if (start != Start::stalled) pass(page_bytes);", "pass(page_bytes);"),
    ("left out: the new frame is not confirmed", SERVICE, "  p.confirms = 1;\n", ""),
    ("early: a region is cleared before its pages are mapped", SERVICE, "  if (s.in_flight != 0) return false;\n", ""),
    ("wrong counter: a clear names the GPU that counts as the requester", SERVICE, ".requester = m.gpu", ".requester = device"),
    ("left out: evictions do not know the page", SERVICE, "  t.s.evictions.arrived(page, false, t);\n", ""),
    ("left out: a page that stays is moved", SERVICE, "  if (action == PageAction::stay) return Start::skipped;\n", ""),
    ("left out: the driver's time of a page", SERVICE, "t.spec.counted_page_time()", "Duration::zero()"),
    ("left out: one service at a time, in order of GPUs", SERVICE,
     "take_turns(turn_, services_.size(), [&](std::uint32_t gpu) { return serve_next(gpu, t); });",
     "for (std::uint32_t g = 0; g < services_.size(); ++g)\n    while (serve_next(g, t)) {\n    }"),
]

WORKERS = [
    ("wrong order: a block's lock goes to the GPU that is listed first", LOCKS, "std::tie(a.wants, a.gpu) < std::tie(b.wants, b.gpu)",
     "a.wants < b.wants"),
    ("wrong order: by GPU number, then by time", LOCKS, "std::tie(a.wants, a.gpu) < std::tie(b.wants, b.gpu)",
     "std::tie(a.gpu, a.wants) < std::tie(b.gpu, b.wants)"),
    ("left out: work of ended batches holds no lock", LOCKS,
     "    for (auto const& held : done)\n      if (held.first == block.first) pass(held);\n", ""),
    ("wrong block: work on any block of ended batches holds the lock", LOCKS, "if (held.first == block.first) pass(held);", "pass(held);"),
    ("late: work that has begun is planned again", LOCKS, "blocks[batch.planned].begins() < now", "blocks[batch.planned].worked < now"),
    ("wrong lock: work without a time holds one", LOCKS, " && at->takes != Duration::zero()", ""),
    ("left out: two batches may work on one block at the same time", LOCKS, "if (auto const* held = &other != &batch ?", "if (auto const* held = false ?"),
    ("left out: work of ended batches is not recorded", BATCHES, "if (workers_.size() > 1) record_work(worker, t);", ""),
    ("early: work of ended batches is forgotten at once", BATCHES, "return block.worked <= earliest; }", "return true; }"),
    ("left out: a worker that waits for another one's frame does not go on", BATCHES, "(more && !alone) || end_deadlock(t)", "end_deadlock(t)"),
    ("early: a busy worker gets a further GPU", BATCHES, "if (!workers_[w].is_idle()) continue;", ""),
    ("left out: a GPU whose accesses are replayed when its buffer is empty is read after the others", BATCHES,
     "  if (replays_when_empty && of_gpu_[gpu].replay_pending != 0) return worker.read_buffer(t);\n", ""),
    ("wrong page: a batch takes a prefetched page from another GPU", WORKER, "return action == PageAction::stay || left_cpu;",
     "return action == PageAction::stay;"),
    ("left out: a page that a worker gives back is not answered", WORKER,
     "answer(fault, page.size, t);\n    }\n    some = true;", "}\n    some = true;"),
    ("wrong page: a worker gives back pages on any device", WORKER,
     "if (std::ranges::none_of(devices, [&](DeviceId d) { return t.holds_frame(moving, d); })) return;", ""),
    ("left out: the end of a later block's work wakes no worker", WORKER,
     "if (next <= t.now && t.s.evictions.lacks_victim(gpu_)) next = pages_.next_worked_after(t.now);", ""),
    ("left out: no worker gives pages back", DEADLOCKS, "return std::ranges::any_of(stuck, [&](BatchWorker* w) { return w->give_back(devices, t); });",
     "return false;"),
    ("wrong worker: the lowest-numbered GPU's gives its pages back", DEADLOCKS, "std::ranges::greater{}", "std::ranges::less{}"),
    ("left out: a page that a third GPU will free is not waited for", DEADLOCKS, "    if (free == stuck.end()) break;\n    stuck.erase(free);\n",
     "    break;\n"),
    ("left out: a page that needs no frame does not overtake", DEADLOCKS, "admitted = w->admit_local(t) || admitted;", "admitted = false;"),
    ("wrong wait: a page that its worker writes in place counts as waiting for a frame", DEADLOCKS,
     "owner.incoming().all()[p.tag].is_local != 0 || ", ""),
]

STAYING = [
    ("early: a page stays only for the minimum time after its arrival", STAYS, "until_.of(page) = Time::max();", "until_.of(page) = Time{};"),
    ("late: a page stays until the second replay", STAYS, "    for (auto const page : to_replay_) until_.of(page) = until;\n    to_replay_.clear();",
     "    if (to_replay_.size() > 1) to_replay_.clear();"),
    ("late: a replay renews the stays of pages of earlier replays", STAYS, "    to_replay_.clear();\n", ""),
    ("wrong page: prefetched pages stay, too", WORKER, "if (page.faulted != 0 && t.spec.pages_stay_for_replay()) {", "if (t.spec.pages_stay_for_replay()) {"),
    ("left out: a replay ends no stay", WORKER,
     "if (t.spec.pages_stay_for_replay()) t.s.batch.of_gpu(gpu_).stays.replayed(t.now + t.spec.batch.least_stay);", ""),
    ("early: the minimum time does not follow the replay", WORKER, "stays.replayed(t.now + t.spec.batch.least_stay);", "stays.replayed(t.now);"),
    ("twice: a page that waits is decided at each attempt", WORKER, "if (page.waits_for_replay == 0)", "if (true)"),
    ("wrong page: a read that makes a copy waits", WORKER, "auto const stay_ends = moves ? stays_until(page.page, t) : Time{};",
     "auto const stay_ends = stays_until(page.page, t);"),
    ("left out: a worker is not served after a replay of another GPU", BATCHES, "replayed = !alone && t.spec.pages_stay_for_replay();", ""),
    ("left out: nor after a buffer that was found empty", BATCHES, "    if (is_serving()) serve(t);  // a page may have waited for this replay\n", ""),
    ("left out: workers wait for each other's replays", DEADLOCKS, "      if (g == other.gpu()) return true;\n", ""),
    ("wrong worker: the highest-numbered GPU does not wait", DEADLOCKS, "if (gpu < other.gpu()) return false;", "if (gpu > other.gpu()) return false;"),
    ("wrong device: a page stays on a GPU that has evicted it", DEADLOCKS,
     "if (until == Time{} || !t.s.memory.is_on(page, t.spec.devices.gpu(static_cast<std::uint32_t>(g))))", "if (until == Time{})"),
    ("wrong action: a page that waits moves, whatever was decided", WORKER, "page.decided;", "PageAction::move_here;"),
    ("wrong count: returns to the same GPU are moves", THRASHING, " && p.gpu != gpu) ++p.events;", ") ++p.events;"),
    ("wrong count: late moves count", THRASHING, "if (!is_late && p.moved", "if (p.moved"),
    ("left out: a late move does not end the thrashing", THRASHING, "if (is_late && p.events >= limits.threshold) p.events = 0;\n", ""),
    ("wrong device: a page that thrashes stays although its GPU has evicted it", WORKER,
     " && t.s.memory.is_on(page, t.spec.devices.gpu(static_cast<std::uint32_t>(*gpu)));", ".has_value();"),
    ("left out: a circle of three GPUs", DEADLOCKS, "reached.push_back(g);", "continue;"),
    ("late: the stay includes its end", THRASHING, "now >= p->moved + limits.stay", "now > p->moved + limits.stay"),
    ("left out: a threshold of 0 does not disable the detection", THRASHING, "    if (limits.threshold == 0) return;\n", ""),
    ("wrong page: pages that are copied thrash", DRIVER_SPEC, "return pages_stay_for_replay() && !makes_copies;", "return pages_stay_for_replay();"),
    ("left out: a page that thrashes moves", WORKER, "if (moves && is_throttled(page.page, t)) {", "if (false) {"),
]

TRANSLATION = [
    ("left out: the limit of faulted accesses", CLIENT, "    if (!again && !faulted_.has_room()) return MissPlace::no_room;\n", ""),
    ("wrong access: one that is looked up again has no room", CLIENT, "if (!again && !faulted_.has_room())", "if (!faulted_.has_room())"),
    ("left out: accesses to a faulted page request it again", CLIENT, "    if (!entry && faulted_.holds(page)) return MissPlace::replay;\n", ""),
    ("wrong place: a fault of the page matters more than the caller's MSHR", CLIENT, "if (!entry && faulted_.holds(page))", "if (faulted_.holds(page))"),
    ("left out: the limit of waiters", CLIENT, "    if (!mshrs_.can_wait()) return MissPlace::no_mshr;\n", ""),
    ("left out: the limit of MSHRs", CLIENT, "    if (mshrs_.full()) return MissPlace::no_mshr;\n", ""),
    ("twice: each access requests its page", CLIENT, "    if (!entry) entry = mshrs_.find(page);\n", ""),
    ("left out: a settled page fills no TLB", CLIENT, "      if (settles) tlb_->fill(m.page, m.translation());\n", ""),
    ("wrong action: a write to a settled read-only page goes on", CLIENT, "if (!settles || (kWrites && is_read_only(m.frame)))", "if (!settles)"),
    ("wrong action: a client that only reads looks a settled read-only page up again", CLIENT, "(kWrites && is_read_only(m.frame))", "is_read_only(m.frame)"),
    ("left out: an answer fills no TLB", CLIENT, "    if (mapped) tlb_->fill(m.page, found);\n", ""),
    ("wrong entry: a fault fills the TLB", CLIENT, "    if (mapped) tlb_->fill(m.page, found);\n", "    tlb_->fill(m.page, found);\n"),
    ("wrong action: a write merged with a read uses a read-only page", CLIENT, "if (mapped && allows(found, waiting))", "if (mapped)"),
    ("left out: a refused write is not looked up again", CLIENT, "      refused = refused || mapped;\n", ""),
    ("early: accesses to a faulted page are looked up again at once", CLIENT, "    if (refused) faulted_.replay(m.page, again);\n", "    faulted_.replay(m.page, again);\n"),
    ("late: an invalidation waits for accesses translated after it", CLIENT, "    drain_.leave_queue();\n", ""),
    ("early: an invalidation does not wait for translated accesses that are not sent", CLIENT, "(drain_, translated_.size(), f)", "(drain_, 0, f)"),
    ("left out: an invalidation forgets no uses", CLIENT, "    uses_.forget(m.page, m.size);\n", ""),
    ("left out: one page instead of all is invalidated", CLIENT, "m.all != 0 ?", "m.all == 2 ?"),
    ("left out: a miss stops no look-up", CLIENT, "stops_at_miss_.value == 0 || mshrs_.in_use() == 0", "true"),
    ("left out: the unit does not ask whether a miss stops it", LOAD_STORE, "if (!unit().translation.may_look_up()) {", "if (false) {"),
    ("wrong stall: a full table of faulted accesses counts as a missing MSHR", LOAD_STORE, "    case MissPlace::no_room:\n      o.stall = LoadStoreStall::faulted;",
     "    case MissPlace::no_room:\n      o.stall = LoadStoreStall::l1_tlb_mshr;"),
    ("wrong bank: a bit counts if any of its row bits is set", HASH, "% 2 != 0)", "!= 0)"),
    ("wrong bank: the inverse of a rotation", HASH, "(back ? 2 * std::uint64_t{banks_} - hash : hash)", "hash"),
    ("left out: the highest bit of a bank is not hashed", HASH, "for (unsigned bit = 0; bit < bits_; ++bit)\n", "for (unsigned bit = 0; bit + 1 < bits_; ++bit)\n"),
    ("left out: the place in the block", HASH, "return (row * banks_ + bank) << block_bits_ | low;", "return (row * banks_ + bank) << block_bits_;"),
    ("wrong polynomial: the first power is not reduced", IPOLY, "top ^ kPolynomials.at(bits);", "top;"),
    ("left out: powers are not reduced", IPOLY, "    if ((power & top) != 0) power ^= kPolynomials.at(bits);\n", ""),
    ("wrong group: a bit is left out between groups", XOR, "b += bits)", "b += bits + 1)"),
    ("wrong row: of the fewer of slices and channels", LAYOUT, "BankHash(mask, std::max(slices, channels) / parts.count, interleave)",
     "BankHash(mask, std::min(slices, channels) / parts.count, interleave)"),
    ("left out: the number of places for walks", OF_SLICE, "s.stalled_walks.size() < spec().params.walk_queue;", "true;"),
    ("wrong request: reads of warps take places for walks", OF_SLICE, "return is_walk(m.requester.kind) && m.access", "return m.access"),
    ("left out: walks that stall in their places are not resumed", SLICE, "while (!s.stalled_walks.empty() && serve(", "while (false && serve("),
    ("left out: a walk in its place waits behind stalled requests", SLICE, "    queue = &s.stalled_walks;", "    queue = &s.stalled;"),
]

LEVELS = [
    ("wrong bank: a miss goes to the first bank of the next level", TLB, "      cx.send(miss, bank,", "      cx.send(miss, 0 * bank,"),
    ("wrong requester: a miss is answered to the first requester of the next level", TLB, ".from = next.from,", ".from = 0,"),
    ("left out: a miss does not name its client", TLB, "                               .warp = m.warp,\n                               .client = m.client},",
     "                               .warp = m.warp},"),
    ("wrong requester: the client's number instead of the bank's", TLB, "cx.send(response, w.from,", "cx.send(response, w.client,"),
    ("early: a replay of all pages by the first bank", TLB, "if (of_all && ++s.replays_of_all < spec().next.banks.count()) return;", ""),
    ("left out: the next replay of all pages is not awaited", TLB, "  s.replays_of_all = 0;\n", ""),
    ("wrong bank: a replay of a page goes to all banks", TLB, "  if (!of_all) return spec().requesters.each_of(m.page, forward);\n", ""),
    ("twice: every bank forwards an invalidation of all pages", TLB, "if (spec().bank != spec().banks.bank_of(m.page))", "if (false)"),
    ("left out: an invalidation of all pages reaches one bank per group", TLB, "if (forward.all != 0)", "if (false)"),
    ("wrong bank: an acknowledgement goes to the first bank of the next level", TLB, "  invalidation.sender = sender;\n", ""),
    ("early: the first acknowledgement is passed on", TLB, "  if (--invalidation.missing == 0)\n", "  --invalidation.missing;\n"),
    ("left out: other banks keep their entries", TLB, "if (invalidates_all_ || m.all != 0) {", "if (invalidates_all_) {"),
    ("left out: an invalidation does not concern all pages", GMMU, "  if (spec().invalidates_all) leaves.all = 1;\n", ""),
    ("left out: a replay of all pages reaches one bank per group", GMMU, "if (m.page == kEveryPage)", "if (false)"),
    ("early: the first acknowledgement of several TLBs is passed on", GMMU, "if (--missing == 0) cx.send", "--missing;\n  cx.send"),
    ("wrong TLB: every answer goes to the first one", GMMU, "cx.send(response, r.tlb,", "cx.send(response, 0,"),
    ("wrong number: banks of all groups overlap", BANKS, "f(group * banks.count() + bank)", "f(group + bank)"),
    ("left out: banks of a group", BANKS, "return groups * banks.count();", "return groups;"),
    ("early: a client takes up the replay of one bank", CLIENT, "      if (++replays_of_all_ < banks_.value) return false;\n", ""),
    ("left out: a client does not await the next replay of all pages", CLIENT, "      replays_of_all_ = 0;\n", ""),
]

FETCH = [
    ("early: a warp issues although a line of its group is missing", WINDOWS, "while (w.head < w.at >> line_bits_ && (w.arrived & 1) != 0)", "while (w.head < w.at >> line_bits_)"),
    ("left out: passed lines stay in the window", WINDOWS, "    pass(w);\n  }\n  // True if the line of the warp's", "  }\n  // True if the line of the warp's"),
    ("left out: requests of earlier windows take no room", WINDOWS, " || w.outstanding >= lines_", ""),
    ("left out: the end of the code", WINDOWS, "if (line >= w.code.bytes || ", "if ("),
    ("wrong line: the window of a jump keeps what has arrived for others", WINDOWS, "    w.arrived >>= lines;\n", "    if (lines == 1) w.arrived >>= 1;\n"),
    ("wrong number: a window continues the numbers of another one", WINDOWS, "    w.first_number += w.asked - w.head;\n", ""),
    ("wrong number: lines that have passed keep theirs", WINDOWS, "    w.first_number += lines;\n", ""),
    ("early: a warp ends before the last line of its group arrives", WINDOWS, "(ends_line || (w.arrived & 1) != 0)", "true"),
    ("twice: the code of a trace repeats", WINDOWS, " && w.code.repeats != 0)", ")"),
    ("wrong place: behind the end, the first instruction instead of the one that follows", WINDOWS, "next % w.code.bytes", "0"),
    ("wrong window: a line of another window counts", WINDOWS, "    if (place >= w.asked - w.head) return;\n", ""),
    ("left out: a warp that has ended requests further lines", WINDOWS, "windows_[context].code.bytes = 0;", ""),
    ("wrong place: kernels overlap", CODE, "    space.bytes += rounded_up(bytes, kKernelAlignment);", "    space.bytes += bytes / 2;"),
    ("wrong space: all code is in the first space", CODE, "    space.first += first_address_of(s);\n", ""),
    ("wrong GPU: all GPUs have the first copy", CODE, "copy.first += gpu * stride_;", "copy.first += 0 * gpu;"),
    ("wrong size: a group is one instruction", SM, "std::max(instructions, 1U));", "std::min(instructions, 1U));"),
    ("left out: a warp does not jump", SM, "      s.instructions.jump(context, next.offset);\n", ""),
    ("left out: a line that arrives wakes no warp", SM, "  s.warps.fetched(context, cx.now());\n", ""),
    ("left out: nothing is requested behind a line that arrives", SM, "  request_lines(context, cx);\n  if (!s.warps.waits_for_fetch(context)) return;", "  if (!s.warps.waits_for_fetch(context)) return;"),
    ("wrong stall: a warp that waits for instructions counts as one that waits for memory", WARPS, "{ fetch_wait_ |= bit(slot); }", "{ static_cast<void>(slot); }"),
    ("left out: an instruction issues without its line", SM, "if (spec().fetches() && !has_fetched(context, i, cx)) return", "if (false) return"),
]

CHIPLETS = [
    ("wrong part: blocks of one part follow each other", MAP, "return static_cast<std::uint32_t>(offset / block % count);", "return static_cast<std::uint32_t>(offset / (2 * block) % count);"),
    ("wrong address: parts overlap", MAP, "return offset / block / count * block + offset % block;", "return offset / block * block + offset % block;"),
    ("left out: addresses in a slice count the blocks of all parts", MAP, "in_turns(has_parts() ? parts_.local(offset) : offset)", "in_turns(offset)"),
    ("wrong offset: of the first part", MAP, "parts_.offset(slice / slices_, offset)", "parts_.offset(0, offset)"),
    ("on the wrong way: within a partition", HOP, "receiver / receivers == partition ?", "receiver / receivers != partition ?"),
    ("left out: responses of a slice to other partitions take no longer", SLICE, "(run.far == 0 ? further(run.to) : Duration::zero())", "Duration::zero()"),
    ("wrong client: every response takes as long as the first client's", OF_SLICE, "spec().to_client[client]", "spec().to_client[0 * client]"),
    ("left out: a hit in a far bank takes no longer", TLB, "            looked_up - cx.now() + further(m.from));\n  } else {", "            looked_up - cx.now());\n  } else {"),
    ("left out: a translation of a far bank takes no longer", TLB, "            at - cx.now() + further(w.from));", "            at - cx.now());"),
    ("left out: an invalidation overtakes responses of a far bank", TLB, "cx.send(forwarded, to, forward, leaves + further(to));", "cx.send(forwarded, to, forward, leaves);"),
    ("left out: a miss reaches a far bank early", TLB, "              looked_up - cx.now() + next.hop.to(bank));", "              looked_up - cx.now());"),
    ("left out: an acknowledgement reaches a far bank early", TLB, "m, spec().next.hop.to(invalidation.sender));", "m);"),
    ("twice: a bank asks after each far request of the next epoch", TLB, "if (++c.far % spec().balance_epoch == 0)", "if (++c.far >= spec().balance_epoch)"),
    ("left out: near requests count as far", TLB, "  if (further(m.from) == Duration::zero()) return;\n", ""),
    ("left out: a report does not start a new count", TLB, "  c = {};\n", ""),
    ("twice: a second wish starts a second collection", BALANCER, "    if (s.missing != 0) return;\n", ""),
    ("early: the first counts decide", BALANCER, "if (--s.missing == 0) use", "--s.missing;\n  use"),
    ("wrong bank: all counts are the first bank's", BALANCER, "s.counts[m.bank] =", "s.counts[0] ="),
    ("left out: a kernel keeps the distribution of the one before", BALANCER, "  use(cx.state().policy->kernel_started(), cx);", "  static_cast<void>(cx);"),
    ("left out: only the hit rate counts", MGVM, " && above(most, all.far, p_->share)", ""),
    ("left out: misses do not matter", MGVM, "above(all.hits, all.hits + all.misses, p_->hit_rate) && ", ""),
    ("left out: collections in between do not matter", MGVM, "unbalanced ? in_a_row_ + 1 : 0;", "unbalanced ? in_a_row_ + 1 : in_a_row_;"),
    ("wrong part: pages in turns over the partitions", BY_PARTITION, "(page - buffer.first) / each", "(page - buffer.first) % count_.value"),
    ("left out: a page of a full partition", BY_PARTITION, "    while (runs_[part].available() == 0) part = part + 1 == runs_.size() ? 0 : part + 1;\n", ""),
    ("wrong partition: a released frame is the first one's", BY_PARTITION, "runs_[parts().part_of(frame)].release", "runs_[0].release"),
    ("twice: nodes of a part have the same place", TABLES, "    next_[part] += kEntries;\n", ""),
    ("wrong part: nodes follow the roots", TABLES, "next_.push_back(parts_of_entries().bytes_of(part, roots));", "next_.push_back(0 * roots);"),
    ("wrong part: of the bank", OF_TABLES, "page / pages % banks * parts / banks", "page / pages % banks % parts"),
    ("wrong part: each SM has another one", OF_DISPATCHER, "parts_[application].of_sm[at];", "at % 2 * application;"),
    ("left out: parts take the blocks of others", OF_DISPATCHER, "first_of_part(part + 1, s.shares[stream].count, application)", "s.shares[stream].count"),
    ("left out: a later kernel continues the numbers of the first", DISPATCHER, "= first_of_part(part, share.count, application);", "+= 0;"),
    ("wrong part: of all SMs, not of the application's partitions", DISPATCHER, "if (parts.of_sm.empty() || partition != last) ++parts.count;", "parts.count = partition + 1;"),
]

BUGS = TRANSITIONS + ACCESS_COUNTERS + COUNTER_SERVICE + WORKERS + STAYING + TRANSLATION + LEVELS + FETCH + CHIPLETS
