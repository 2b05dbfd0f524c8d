// SPDX-License-Identifier: Apache-2.0
#include "trace_file.hpp"

#include <algorithm>
#include <ostream>
#include <tuple>

#include "farfault/engine/error.hpp"
#include "perfetto.hpp"

namespace farfault::cli {

namespace {

std::string_view word_of(Served served) {
  switch (served) {
    case Served::l1:
      return "l1";
    case Served::l2:
      return "l2";
    case Served::memory:
      return "memory";
    case Served::gmmu:
      return "gmmu";
    case Served::iommu:
      return "iommu";
    case Served::fault:
      return "fault";
    case Served::unknown:
      break;
  }
  return "unknown";
}

std::string hexadecimal(std::uint64_t value) {
  std::string text = "0x";
  unsigned digits = 1;
  while (digits < 16 && value >> 4 * digits != 0) ++digits;
  for (auto d = digits; d-- > 0;) text += "0123456789abcdef"[value >> 4 * d & 15U];
  return text;
}

class TraceFile {
 public:
  TraceFile(std::ostream& out, TraceContent content, TraceOptions const& options, System const& system,
            std::vector<bool> const& shown, Applications const& applications)
      : out_(out),
        content_(std::move(content)),
        options_(options),
        system_(system),
        shown_(shown),
        applications_(applications),
        places_(system),
        lanes_(system.component_count()) {}

  void write() {
    add_window();
    add_accesses();
    add_kernels();
    add_counters();
    write_events();
  }

 private:
  using Track = PerfettoTrace::Track;
  // A slice, or the value of a counter.
  enum class Kind : std::uint8_t { end_inner, end_outer, begin_outer, begin_inner, count };
  struct Entry {
    Time at;
    Kind kind;
    std::uint32_t index;  // into slices_ or counts_
  };
  struct Slice {
    Track track = 0;
    std::string_view name;
    std::uint64_t flow = 0;        // 0: none
    std::uint32_t of = kNone;      // its access
    std::uint32_t access = kNone;  // the same, if the slice is the whole access
    std::uint32_t kernel = kNone;
  };
  struct Count {
    Track track;
    std::uint64_t value;
  };
  struct Lane {
    Track track;
    Time free_at;
  };
  // A stage of an access at a component other than its SM.
  struct Visit {
    Time from;
    Time to;
    std::uint32_t access;
    Stage stage;
  };
  static constexpr std::uint32_t kNone = ~0U;

  Track process_of(std::string const& path) {
    auto const name = path.substr(0, path.rfind('.'));
    auto const [known, is_new] = processes_.try_emplace(name, 0);
    if (is_new) known->second = trace_.process(one_line(name));
    return known->second;
  }
  static std::string_view short_name(std::string_view path) {
    auto const dot = path.rfind('.');
    return dot == path.npos ? path : path.substr(dot + 1);
  }
  Track lane(ComponentId id, Time from, Time to) {
    auto& lanes = lanes_[id];
    auto free = std::ranges::find_if(lanes, [&](Lane const& l) { return l.free_at <= from; });
    if (free == lanes.end()) {
      auto const& path = system_.component(id).path();
      auto const process = process_of(path);
      lanes.push_back({trace_.track(process, one_line(short_name(path))), Time{}});
      free = lanes.end() - 1;
    }
    free->free_at = to;
    return free->track;
  }
  void slice(Slice const& s, Time from, Time to, bool inner) {
    auto const index = static_cast<std::uint32_t>(slices_.size());
    slices_.push_back(s);
    entries_.push_back({from, inner ? Kind::begin_inner : Kind::begin_outer, index});
    entries_.push_back({to, inner ? Kind::end_inner : Kind::end_outer, index});
  }

  void add_window() {
    about_ = trace_.process("trace of simulated time: 1 ns shown = 1 ps simulated");
    slice({trace_.track(about_, "window"), "window"}, options_.from, options_.to, false);
  }

  void add_accesses() {
    std::ranges::sort(content_.accesses, {},
                      [](AccessTrace const& a) { return std::tuple(a.issued, a.sm, a.number); });
    std::vector<std::vector<Visit>> visits(system_.component_count());
    std::vector<std::uint64_t> flow(content_.accesses.size());  // if there are several slices to link
    for (std::uint32_t i = 0; i < content_.accesses.size(); ++i) {
      auto const& a = content_.accesses[i];
      auto const is_shown = [&](StageSpan const& span) { return shown_[places_.of(a, span.place)]; };
      auto const elsewhere = std::ranges::count_if(
          a.spans, [&](StageSpan const& span) { return span.place != Place::sm && is_shown(span); });
      if (elsewhere + (shown_[a.sm] ? 1 : 0) > 1) flow[i] = i + std::uint64_t{1};
      Track track = 0;
      if (shown_[a.sm]) {
        track = lane(a.sm, a.issued, a.ended);
        slice({.track = track,
               .name = a.access == Access::read ? "load" : "store",
               .flow = flow[i],
               .of = i,
               .access = i},
              a.issued, a.ended, false);
      }
      for (auto const& span : a.spans) {
        auto const at = places_.of(a, span.place);
        if (!shown_[at]) continue;
        if (at == a.sm)
          slice({track, kStageNames[static_cast<std::size_t>(span.stage)], 0, i}, span.from, span.to, true);
        else
          visits[at].push_back({span.from, span.to, i, span.stage});
      }
    }
    for (ComponentId id = 0; id < visits.size(); ++id) {
      std::ranges::sort(visits[id], {}, [](Visit const& v) { return std::tuple(v.from, v.access); });
      for (auto const& v : visits[id])
        slice({lane(id, v.from, v.to), kStageNames[static_cast<std::size_t>(v.stage)], flow[v.access],
               v.access},
              v.from, v.to, false);
    }
  }

  // Clipped to the window.
  void add_kernels() {
    auto& kernels = content_.kernels;
    std::ranges::sort(kernels, {},
                      [](KernelSpan const& k) { return std::tuple(k.launched, k.host, k.stream); });
    std::vector<Lane> lanes;
    for (std::uint32_t i = 0; i < kernels.size(); ++i) {
      auto const& k = kernels[i];
      auto const from = std::max(k.launched, options_.from);
      auto const to = std::min({k.finished, options_.to, content_.end});
      if (to <= from) continue;
      auto free = std::ranges::find_if(lanes, [&](Lane const& l) { return l.free_at <= from; });
      if (free == lanes.end()) {
        lanes.push_back({trace_.track(about_, "kernels"), Time{}});
        free = lanes.end() - 1;
      }
      free->free_at = to;
      slice({.track = free->track, .name = {}, .kernel = i}, from, to, false);
    }
  }

  void add_counters() {
    for (auto const& c : content_.counters) {
      auto const process = process_of(c.component);
      auto const track =
          trace_.counter(process, one_line(std::string(short_name(c.component)) + "." + c.name), c.unit);
      for (auto const& [at, value] : c.values) {
        entries_.push_back({at, Kind::count, static_cast<std::uint32_t>(counts_.size())});
        counts_.push_back({track, value});
      }
    }
  }

  std::vector<Annotation> const& annotations_of(Slice const& s) {
    annotations_.clear();
    if (s.of != kNone) annotations_.push_back({"access", s.of + std::uint64_t{1}});
    if (s.access != kNone) {
      auto const& a = content_.accesses[s.access];
      address_ = hexadecimal(a.address & ((std::uint64_t{1} << kVirtualBits) - 1));
      physical_ = hexadecimal(offset_of(a.physical));
      annotations_.push_back({"address", 0, address_});
      annotations_.push_back({"space", a.space});
      if (a.physical != kNoFrame) {
        device_ = device_name(device_of(a.physical));
        annotations_.push_back({"memory", 0, device_});
        annotations_.push_back({"physical", 0, physical_});
      }
      annotations_.push_back({"bytes", a.bytes});
      annotations_.push_back({"kernel", a.kernel});
      annotations_.push_back({"block", a.block});
      annotations_.push_back({"warp", a.warp});
      annotations_.push_back({"instruction", a.step});
      annotations_.push_back({"translation", 0, word_of(a.translation)});
      annotations_.push_back({"data", 0, word_of(a.data)});
      if (a.unfinished != 0) annotations_.push_back({"unfinished", 1});
    } else if (s.kernel != kNone) {
      auto const& k = content_.kernels[s.kernel];
      annotations_.push_back({"kernel", k.kernel});
      annotations_.push_back({"launch", k.launch});
      annotations_.push_back({"launched_ps", static_cast<std::uint64_t>(picoseconds(k.launched))});
      if (k.finished != Time::max())
        annotations_.push_back({"finished_ps", static_cast<std::uint64_t>(picoseconds(k.finished))});
      name_ = one_line(applications_.kernel(k.kernel).shape().name);
    } else if (s.name == "window") {
      annotations_.push_back({"one_access_in", options_.one_in});
      annotations_.push_back({"accesses", content_.accesses.size()});
      annotations_.push_back({"left_out", content_.omitted});
    }
    return annotations_;
  }

  void write_events() {
    std::ranges::stable_sort(entries_, {}, [](Entry const& e) { return std::tuple(e.at, e.kind); });
    constexpr std::size_t kPiece = 1 << 16;
    std::size_t n = 0;
    for (auto const& e : entries_) {
      if (e.kind == Kind::count) {
        trace_.count(e.at, counts_[e.index].track, counts_[e.index].value);
      } else if (e.kind == Kind::begin_outer || e.kind == Kind::begin_inner) {
        auto const& s = slices_[e.index];
        auto const& annotations = annotations_of(s);
        trace_.begin(e.at, s.track, s.kernel != kNone ? std::string_view(name_) : s.name, s.flow,
                     annotations);
      } else {
        trace_.end(e.at, slices_[e.index].track);
      }
      if (++n % kPiece == 0) out_ << trace_.take();
    }
    trace_.finish();
    out_ << trace_.take();
  }

  std::ostream& out_;
  TraceContent content_;
  TraceOptions const& options_;
  System const& system_;
  std::vector<bool> const& shown_;
  Applications const& applications_;
  ComponentPlaces places_;
  PerfettoTrace trace_;
  Track about_ = 0;
  std::map<std::string, Track> processes_;
  std::vector<std::vector<Lane>> lanes_;  // by component
  std::vector<Slice> slices_;
  std::vector<Count> counts_;
  std::vector<Entry> entries_;
  std::vector<Annotation> annotations_;
  std::string address_, physical_, device_, name_;  // texts that annotations_ refers to
};

}  // namespace

void write_trace(std::ostream& out, TraceContent content, TraceOptions const& options, System const& system,
                 std::vector<bool> const& shown, Applications const& applications) {
  TraceFile(out, std::move(content), options, system, shown, applications).write();
}

}  // namespace farfault::cli
