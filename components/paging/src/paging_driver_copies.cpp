// The driver's part in what programs copy between the host's memory and GPUs.
#include <algorithm>

#include "farfault/paging/paging_driver.hpp"

namespace farfault {

void PagingDriver::on_copy_bytes(CopyBytes const& m, Cx& cx) const {
  auto& ordered = cx.state().program_copies[m.stream];
  FF_CHECK(ordered.end == 0 && m.bytes != 0, path() + ": a stream copies before its last copy has ended");
  // Whole lines: a copy engine knows nothing less.
  ordered = {m.first / spec().line_bytes * spec().line_bytes, m.first + m.bytes, 0, m.access, {}};
  continue_copies(cx);
}

void PagingDriver::continue_copies(Cx& cx) const {
  if (spec().host_pages == nullptr) return;
  auto& s = cx.state();
  auto const streams = s.program_copies.size();
  for (std::size_t in_vain = 0; in_vain < streams;) {
    auto const stream = static_cast<std::uint32_t>(s.copy_turn);
    s.copy_turn = s.copy_turn + 1 == streams ? 0 : s.copy_turn + 1;
    in_vain = copy_next(stream, cx) ? 0 : in_vain + 1;
  }
}

bool PagingDriver::copy_next(std::uint32_t stream, Cx& cx) const {
  auto& s = cx.state();
  auto& ordered = s.program_copies[stream];
  while (ordered.next < ordered.end) {
    auto const page = ordered.next >> spec().page_bits;
    if (is_copied(page, s)) return false;
    auto const found = s.table.find(page);
    auto const page_end = (page + 1) << spec().page_bits;
    if (!found || device_of(found->frame) >= kFirstCpu) {
      ordered.next = std::min(page_end, ordered.end);
      continue;
    }
    if (s.free_moves.empty()) return false;
    // Of a large page as much as lies side by side on the host.
    auto const host_frame = spec().host_pages->frame_of(page);
    auto end = page_end;
    auto const last = first_of(page, found->size) + (std::uint64_t{1} << found->size);
    for (auto p = page + 1; p < last && end < ordered.end; ++p, end += page_bytes())
      if (spec().host_pages->frame_of(p) != host_frame + (p - page)) break;
    end = std::min(end, ordered.end);
    auto const offset = ordered.next & (page_bytes() - 1);
    auto const host = physical(spec().devices.cpu(), (host_frame << spec().page_bits) + offset);
    auto const device = found->physical_of(ordered.next, spec().page_bits);
    auto const bytes = static_cast<std::uint32_t>(end - ordered.next);
    bool const to_gpu = ordered.access == Access::read;
    auto const number = s.free_moves.back();
    s.free_moves.pop_back();
    auto& moving = s.moves[number];
    moving = {};
    moving.fault.page = page;
    moving.started = cx.now();
    moving.in_use = 1;
    moving.size = found->size;
    moving.of_program = 1;
    moving.stream = stream;
    cx.send(copy, spec().devices.number_of(device_of(device)),
            CopyOrder{to_gpu ? host : device, to_gpu ? device : host, bytes, number});
    s.stats.copied_bytes += bytes;
    ++ordered.under_way;
    ordered.next = end;
    return true;
  }
  if (ordered.end == 0 || ordered.under_way != 0) return false;
  ordered = {};
  cx.send(bytes_copied, BytesCopied{stream});
  return false;
}

void PagingDriver::end_page_copy(PageMigration const& done, Cx& cx) const {
  --cx.state().program_copies[done.stream].under_way;
}

}  // namespace farfault
