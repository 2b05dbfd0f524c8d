// SPDX-License-Identifier: Apache-2.0
#include "farfault/workloads/trace.hpp"

#include <algorithm>
#include <bit>
#include <bitset>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "farfault/workloads/kernel_support.hpp"
#include "trace_accelsim.hpp"

namespace farfault::workloads {
namespace {

constexpr std::uint64_t kRegion = 64 << 10;

struct Record {
  VirtAddr base = 0;         // first address, or its index in the pool
  std::uint32_t lanes = 0;   // of a run of computation: its instructions
  std::uint32_t offset = 0;  // in the code
  std::int32_t stride = 0;
  Op op = Op::end;
  std::uint8_t bytes = 0;
  bool pooled = false;
  bool wait = false;
};
static_assert(sizeof(Record) == 24);

struct Stretch {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class TraceKernel final : public Kernel {
 public:
  TraceKernel(KernelShape shape, std::vector<Record> records, std::vector<VirtAddr> pool,
              std::vector<Stretch> warps)
      : shape_(std::move(shape)),
        warps_per_block_((shape_.threads_per_block + kTraceLanes - 1) / kTraceLanes),
        records_(std::move(records)),
        pool_(std::move(pool)),
        warps_(std::move(warps)) {}

  KernelShape const& shape() const override { return shape_; }

  void instruction(std::uint64_t block, std::uint32_t warp, std::uint64_t step,
                   WarpInstruction& out) const override {
    auto const slot = block * warps_per_block_ + warp;
    if (slot >= warps_.size() || step >= warps_[slot].end - warps_[slot].begin) return set_end(out);
    auto const& r = records_[warps_[slot].begin + step];
    out.offset = r.offset;
    if (r.op == Op::compute) return set_compute(out, {.vector = r.lanes}, r.wait);
    if (r.op == Op::barrier) {
      set_barrier(out);
      out.wait_loads = r.wait;
      return;
    }
    set_access(out, r.op, r.bytes, r.lanes, r.wait);
    auto left = r.lanes;
    if (r.pooled) {
      for (auto const* a = &pool_[r.base]; left != 0; left &= left - 1, ++a)
        out.address[static_cast<std::size_t>(std::countr_zero(left))] = *a;
    } else {
      auto const stride = static_cast<std::uint64_t>(std::int64_t{r.stride});
      for (auto a = r.base; left != 0; left &= left - 1, a += stride)
        out.address[static_cast<std::size_t>(std::countr_zero(left))] = a;
    }
  }

 private:
  KernelShape shape_;
  std::uint64_t warps_per_block_;
  std::vector<Record> records_;
  std::vector<VirtAddr> pool_;
  std::vector<Stretch> warps_;
};

// The union of touched ranges of memory, merged from time to time.
class Regions {
 public:
  void add(VirtAddr base, std::uint64_t bytes) {
    if (bytes == 0) return;
    auto const begin = base / kRegion * kRegion;
    auto const end = (base + bytes + kRegion - 1) / kRegion * kRegion;
    if (begin >= last_.first && end <= last_.second) return;
    last_ = {begin, end};
    list_.push_back(last_);
    if (list_.size() >= limit_) {
      merge();
      limit_ = std::max<std::size_t>(4096, 2 * list_.size());
    }
  }

  std::vector<Buffer> take() {
    merge();
    std::vector<Buffer> buffers;
    for (auto const& [begin, end] : list_)
      buffers.push_back({"region" + std::to_string(buffers.size()), begin, end - begin});
    return buffers;
  }

 private:
  void merge() {
    std::sort(list_.begin(), list_.end());
    std::size_t kept = 0;
    for (auto const& next : list_) {
      if (kept > 0 && next.first <= list_[kept - 1].second) {
        list_[kept - 1].second = std::max(list_[kept - 1].second, next.second);
      } else {
        list_[kept++] = next;
      }
    }
    list_.resize(kept);
  }

  std::vector<std::pair<VirtAddr, VirtAddr>> list_;
  std::pair<VirtAddr, VirtAddr> last_{1, 0};
  std::size_t limit_ = 4096;
};

class Builder final : public TraceSink {
 public:
  explicit Builder(std::uint64_t max_records) : max_records_(max_records) {}

  void begin_kernel(TraceKernelHeader const& header) override {
    streams_.push_back(header.stream);
    shape_ = {.name = header.name,
              .blocks = 0,
              .threads_per_block = header.block_threads,
              .registers_per_thread = std::max(header.registers, 1U),
              .shared_bytes_per_block = header.shared_bytes};
    warps_per_block_ = (header.block_threads + kTraceLanes - 1) / kTraceLanes;
    records_.clear();
    pool_.clear();
    warps_.clear();
    first_offset_ = kNowhere;
    last_offset_ = 0;
    instruction_bytes_ = kLargest;
  }

  void begin_block(TextScanner const& in) override {
    close_warp();
    ++shape_.blocks;
    if (total_ + shape_.blocks * warps_per_block_ > max_records_) refuse(in);
    warps_.resize(shape_.blocks * warps_per_block_);
  }

  void begin_warp(TextScanner const& in, std::uint32_t warp) override {
    close_warp();
    open_ = &warps_[(shape_.blocks - 1) * warps_per_block_ + warp];
    if (open_->end != 0) in.fail("warp " + std::to_string(warp) + " occurs twice in its thread block");
    open_->begin = open_->end = records_.size();
    pending_.reset();
    before_ = kNowhere;
  }

  void instruction(TextScanner const& in, TraceInstruction const& i) override {
    first_offset_ = std::min(first_offset_, i.offset);
    last_offset_ = std::max(last_offset_, i.offset);
    if (before_ != kNowhere && i.offset > before_)
      instruction_bytes_ = std::min(instruction_bytes_, i.offset - before_);
    before_ = i.offset;
    bool wait = false;
    for (std::uint32_t k = 0; k < i.sources; ++k) wait = wait || pending_[i.source[k]];
    for (std::uint32_t k = 0; k < i.destinations; ++k) wait = wait || pending_[i.destination[k]];
    if (wait) pending_.reset();
    if (i.kind == TraceKind::other) {
      if (!wait && records_.size() > open_->begin && records_.back().op == Op::compute) {
        ++records_.back().lanes;
        return;
      }
      auto& r = add(in);
      r.op = Op::compute;
      r.offset = static_cast<std::uint32_t>(i.offset);
      r.lanes = 1;
      r.wait = wait;
      return;
    }
    auto& r = add(in);
    r.wait = wait;
    r.offset = static_cast<std::uint32_t>(i.offset);
    r.op = i.kind == TraceKind::barrier ? Op::barrier : i.kind == TraceKind::load ? Op::load : Op::store;
    if (i.kind == TraceKind::barrier) return;
    r.lanes = i.lanes;
    r.bytes = static_cast<std::uint8_t>(i.bytes);
    store_addresses(r, i);
    // A wide load fills consecutive registers from the named register on.
    if (i.kind == TraceKind::load)
      for (std::uint32_t k = 0; k < i.destinations; ++k)
        for (std::uint32_t word = 0; word < (i.bytes + 3) / 4 && i.destination[k] + word < 255; ++word)
          pending_[i.destination[k] + word] = true;
  }

  void end_kernel() override {
    close_warp();
    place_code();
    total_ += records_.size() + pool_.size() + warps_.size();
    records_.shrink_to_fit();
    pool_.shrink_to_fit();
    kernels_.push_back(
        std::make_unique<TraceKernel>(shape_, std::move(records_), std::move(pool_), std::move(warps_)));
    records_ = {};
    pool_ = {};
    warps_ = {};
  }

  std::vector<std::unique_ptr<Kernel const>> take_kernels() { return std::move(kernels_); }
  // CUDA's stream number per kernel.
  std::vector<std::uint64_t> const& streams() const { return streams_; }
  Regions& regions() { return regions_; }

 private:
  // Offsets count from the lowest program counter of the kernel.
  void place_code() {
    if (first_offset_ > last_offset_) return;
    auto const span = last_offset_ - first_offset_;
    shape_.instruction_bytes = static_cast<std::uint32_t>(instruction_bytes_);
    shape_.code_bytes = span > ~0U - kLargest ? ~0U : static_cast<std::uint32_t>(span + instruction_bytes_);
    for (auto& r : records_) r.offset -= static_cast<std::uint32_t>(first_offset_);
  }

  [[noreturn]] void refuse(TextScanner const& in) const {
    in.fail("the trace needs more than max_instructions = " + std::to_string(max_records_) +
            " memory instructions, runs of other instructions, or warps");
  }

  Record& add(TextScanner const& in) {
    if (total_ + records_.size() + pool_.size() >= max_records_) refuse(in);
    return records_.emplace_back();
  }

  void store_addresses(Record& r, TraceInstruction const& i) {
    auto const stride = i.active > 1 ? static_cast<std::int64_t>(i.address[1] - i.address[0]) : 0;
    bool linear = stride >= std::numeric_limits<std::int32_t>::min() &&
                  stride <= std::numeric_limits<std::int32_t>::max();
    for (std::uint32_t k = 1; k < i.active && linear; ++k)
      linear = static_cast<std::int64_t>(i.address[k] - i.address[k - 1]) == stride;
    for (std::uint32_t k = 0; k < i.active; ++k) regions_.add(i.address[k], i.bytes);
    if (linear) {
      r.base = i.address[0];
      r.stride = static_cast<std::int32_t>(stride);
    } else {
      r.pooled = true;
      r.base = pool_.size();
      pool_.insert(pool_.end(), i.address.begin(), i.address.begin() + i.active);
    }
  }

  void close_warp() {
    if (open_ != nullptr) open_->end = records_.size();
    open_ = nullptr;
  }

  std::uint64_t max_records_;
  std::uint64_t total_ = 0;  // size of finished kernels in entries
  KernelShape shape_;
  std::uint32_t warps_per_block_ = 1;
  static constexpr std::uint64_t kNowhere = ~std::uint64_t{0};
  static constexpr std::uint64_t kLargest = 16;  // bytes of an instruction, from Volta on
  std::uint64_t first_offset_ = kNowhere;        // of the code
  std::uint64_t last_offset_ = 0;
  std::uint64_t before_ = kNowhere;  // of the warp's instruction before
  std::uint64_t instruction_bytes_ = kLargest;
  std::vector<Record> records_;
  std::vector<VirtAddr> pool_;
  std::vector<Stretch> warps_;
  Stretch* open_ = nullptr;   // the warp being read
  std::bitset<256> pending_;  // registers of outstanding loads
  std::vector<std::unique_ptr<Kernel const>> kernels_;
  std::vector<std::uint64_t> streams_;
  Regions regions_;
};

// The operations of a trace. Copies run in CUDA's legacy default stream. An operation of this stream waits
// for all earlier operations of all streams, and later operations of any stream wait for it (CUDA C
// Programming Guide, Default Stream).
class Program {
 public:
  void add(Operation o, std::uint64_t cuda_stream) {
    if (cuda_stream == 0) {
      for (std::uint32_t stream = 1; stream < last_.size(); ++stream) wait(stream, 0);
    } else {
      o.stream = number_of(cuda_stream);
      wait(0, o.stream);
    }
    last_[o.stream] = count();
    all_.push_back(o);
  }
  std::vector<Operation> take() {
    // The default stream is empty: the others are renumbered from 0.
    if (last_[0] == kNone)
      for (auto& o : all_) --o.stream;
    return std::move(all_);
  }

 private:
  std::uint32_t count() const { return static_cast<std::uint32_t>(all_.size()); }
  // The next operation of stream `later` waits for all current operations of stream `earlier`.
  void wait(std::uint32_t earlier, std::uint32_t later) {
    auto& awaited = awaited_[later][earlier];
    if (last_[earlier] == kNone || awaited == last_[earlier]) return;
    awaited = last_[earlier];
    last_[later] = count();
    all_.push_back(Operation::wait_for(awaited, later));
  }
  std::uint32_t number_of(std::uint64_t cuda_stream) {
    auto const [number, fresh] = numbers_.try_emplace(cuda_stream, static_cast<std::uint32_t>(last_.size()));
    if (fresh) {
      last_.push_back(kNone);
      for (auto& by_stream : awaited_) by_stream.push_back(kNone);
      awaited_.emplace_back(last_.size(), kNone);
    }
    return number->second;
  }

  static constexpr std::uint32_t kNone = ~0U;
  std::vector<Operation> all_;
  std::map<std::uint64_t, std::uint32_t> numbers_;
  std::vector<std::uint32_t> last_{kNone};                    // per stream: its last operation
  std::vector<std::vector<std::uint32_t>> awaited_{{kNone}};  // per stream: last awaited of each other
};

std::vector<Operation> program_of(TraceList const& list, std::vector<std::uint64_t> const& streams) {
  Program program;
  auto copy = list.copies.begin();
  for (std::uint32_t k = 0; k <= streams.size(); ++k) {
    for (; copy != list.copies.end() && copy->kernels_before <= k; ++copy)
      program.add(copy->to_host ? Operation::copy_to_host(copy->base, copy->bytes)
                                : Operation::copy_to_gpus(copy->base, copy->bytes),
                  0);
    if (k < streams.size()) program.add(Operation::launch(k), streams[k]);
  }
  return program.take();
}

class Counter final : public TraceSink {
 public:
  TraceSummary summary;

  void begin_kernel(TraceKernelHeader const&) override { ++summary.kernels; }
  void begin_block(TextScanner const&) override { ++summary.blocks; }
  void begin_warp(TextScanner const&, std::uint32_t) override {}
  void instruction(TextScanner const&, TraceInstruction const& i) override {
    ++summary.instructions;
    if (i.kind == TraceKind::load || i.kind == TraceKind::store) ++summary.memory_instructions;
  }
  void end_kernel() override {}
};

TraceList read_all(std::string const& path, TraceSink& sink, InputLimits const& limits) {
  auto list = read_kernel_list(path, limits);
  for (auto const& kernel : list.kernels) {
    TextSource source(kernel, limits);
    TextScanner in(source);
    if (!is_kernel_trace(in.sample()))
      in.fail("a kernel's trace must start with its header, '-kernel name = ...'");
    read_kernel_trace(in, sink);
    list.inputs.push_back(source.finish());
  }
  return list;
}

}  // namespace

Workload read_trace(std::string const& path, BuildContext const& context, TraceOptions const& options) {
  if (context.warp_width != kTraceLanes)
    throw UserError(one_line(path) + ": a trace has warps of 32 lanes, but the warps of this machine have " +
                    std::to_string(context.warp_width) +
                    "; set gpu.warp_width to 32, or use the preset of an NVIDIA GPU");
  Builder builder(options.max_instructions);
  auto list = read_all(path, builder, context.limits);
  for (auto const& copy : list.copies) builder.regions().add(copy.base, copy.bytes);
  std::set<std::uint64_t> streams(builder.streams().begin(), builder.streams().end());
  streams.erase(0);
  if (streams.size() >= kMaxStreams)
    throw UserError(one_line(path) + ": the kernels are in " + std::to_string(streams.size()) +
                    " CUDA streams in addition to the default stream; the maximum is " +
                    std::to_string(kMaxStreams - 1));
  auto operations = program_of(list, builder.streams());
  return {"trace", builder.regions().take(), builder.take_kernels(), std::move(list.inputs),
          std::move(operations)};
}

TraceSummary summarize_trace(std::string const& path, InputLimits const& limits) {
  Counter counter;
  read_all(path, counter, limits);
  return counter.summary;
}

}  // namespace farfault::workloads
