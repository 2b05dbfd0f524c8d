// The copy engine of a GPU: it fetches pages from other devices' memory into its own.
//
// One page after the other, line by line: a line is read over the RDMA engine, at most one per cycle and
// `window` under way, and written through the L2 slice it belongs to when it has arrived. The page is there
// when all its writes are acknowledged. (MGPUSim 4.2, page migration controller: one page at a time, in
// pieces of a cache line.)
#pragma once

#include <string>

#include "farfault/components/parts/address_map.hpp"
#include "farfault/components/parts/ring.hpp"
#include "farfault/engine/component.hpp"
#include "farfault/engine/params.hpp"
#include "farfault/protocols/messages.hpp"

namespace farfault {

struct CopyEngineParams {
  std::uint32_t window = 64;
  std::uint32_t slice_credits = 16;
  void describe(ParamTable& t);
};

struct CopyEngineSpec {
  CopyEngineParams params;
  Clock clock{1'000'000'000};
  std::uint32_t line_bytes = 64;
  std::uint64_t page_bytes = 4096;
  std::uint16_t remote_port = 0;  // the engine's number among the clients of the RDMA engine
  std::uint16_t memory_port = 0;  // and among those of the L2 slices
  AddressMap memory;
  std::uint32_t slices = 1;
  std::uint32_t queue = 1;  // pages that the driver can order at a time
};

struct CopyEngineState {
  Ring<CopyPage> pages;         // the first is being copied
  Ring<std::uint32_t> arrived;  // lines that wait for a credit of their slice
  std::uint32_t fetched = 0;    // lines of the first page requested
  std::uint32_t under_way = 0;  // lines requested and not written yet
  std::uint32_t written = 0;    // lines of the first page acknowledged
  Time port_free{};
  std::vector<std::uint32_t> slice_credits;
  std::uint64_t pages_copied = 0;
  std::uint64_t lines_copied = 0;
};

class CopyEngine final : public Component<CopyEngineSpec, CopyEngineState> {
 public:
  using Component::Component;
  In<CopyPage> copy = in<&CopyEngine::on_copy>("copy");
  In<MemResponse> remote_response = in<&CopyEngine::on_line>("remote_response");
  In<MemResponse> memory_response = in<&CopyEngine::on_written>("memory_response");
  Out<MemRequest> remote_request = out<MemRequest>("remote_request");
  Out<MemRequest> memory_request = out<MemRequest>("memory_request");
  Out<PageCopied> copied = out<PageCopied>("copied");

  std::string_view kind() const override { return "copy_engine"; }
  std::string waiting_for() const override;
  CopyEngineState initial() const override;
  std::span<Stat<CopyEngineState> const> stats() const override;

  void on_copy(CopyPage const& m, Cx& cx) const;
  void on_line(MemResponse const& m, Cx& cx) const;
  void on_written(MemResponse const& m, Cx& cx) const;

 private:
  std::uint32_t lines() const { return static_cast<std::uint32_t>(spec().page_bytes / spec().line_bytes); }
  void fetch(Cx& cx) const;
  void write_arrived(Cx& cx) const;
};

}  // namespace farfault
