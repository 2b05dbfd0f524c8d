// SPDX-License-Identifier: Apache-2.0
#include "recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <span>

#include "farfault/engine/archive.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/units.hpp"
#include "perfetto.hpp"
#include "process/together.hpp"

namespace farfault::cli {

namespace {

constexpr std::int64_t kSamples = 20;  // in the window, in addition to the run's own samples

// Data recorded by a rank.
struct Seen {
  std::vector<AccessTrace> accesses;
  std::vector<KernelSpan> kernels;
  std::uint64_t omitted = 0;

  auto members() { return std::tie(accesses, kernels, omitted); }
};

}  // namespace

std::string trace_path(TraceOptions const& trace, std::string const& output) {
  if (!trace.output.empty()) return trace.output;
  constexpr std::string_view kResult = ".h5";
  auto const stem = output.ends_with(kResult) ? output.substr(0, output.size() - kResult.size()) : output;
  return stem + ".pftrace";
}

std::string writing_trace(std::string const& path) {
  return path + ".writing";
}

bool looks_like_trace(std::string const& path) {
  auto const begins = PerfettoTrace::beginning();
  return first_bytes(path, begins.size()) == begins;
}

Recording::Recording(TraceOptions const& options, std::string path, Model& model, Engine& engine,
                     Transport& transport, Sampler& sampler)
    : options_(options),
      path_(std::move(path)),
      model_(model),
      engine_(engine),
      transport_(transport),
      sampler_(sampler),
      next_(options.from) {
  find_components();
  if (transport_.rank() != 0) return;
  find_counters();
  file_ = create_locked(writing_trace(path_), path_);
}

Recording::~Recording() {
  if (file_.is_open()) std::remove(writing_trace(path_).c_str());
}

void Recording::find_components() {
  auto const& system = model_.assembly->system();
  shown_.assign(system.component_count(), options_.components.empty());
  for (auto const& pattern : options_.components) {
    bool any = false;
    std::vector<std::string> known;
    for (ComponentId id = 0; id < system.component_count(); ++id) {
      auto const& name = system.component(id).path();
      bool const matches = path_matches(pattern, name);
      any = any || matches;
      if (matches) shown_[id] = true;
      known.push_back(name);
      if (auto const dot = name.rfind('.'); dot != name.npos) known.push_back(name.substr(0, dot));
    }
    if (any) continue;
    auto const near = nearest_name(pattern, known);
    throw UserError("--trace: unknown component '" + shown(pattern) + "'" +
                    (near.empty() ? "; /timeseries of a result lists the components, such as " + known.front()
                                  : "; did you mean '" + near + "'?"));
  }
  // A track other than an SM's shows the accesses of all SMs.
  bool others = false;
  std::vector<ComponentId> sms;
  for (ComponentId id = 0; id < system.component_count(); ++id) {
    if (dynamic_cast<Sm const*>(&system.component(id)) != nullptr)
      sms.push_back(id);
    else
      others = others || shown_[id];
  }
  for (auto const id : sms) sms_ += others || shown_[id] ? 1 : 0;
}

void Recording::find_counters() {
  auto const& groups = sampler_.groups();
  auto const& system = model_.assembly->system();
  std::map<std::string, ComponentId> shown_paths;
  for (ComponentId id = 0; id < system.component_count(); ++id)
    if (shown_[id]) shown_paths[system.component(id).path()] = id;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (!groups[g].applications.empty()) continue;
    for (std::size_t i = 0; i < groups[g].instances.size(); ++i) {
      if (!shown_paths.contains(groups[g].instances[i])) continue;
      for (std::size_t s = 0; s < groups[g].stats.size(); ++s) {
        auto const& stat = groups[g].stats[s];
        if (stat.summed || stat.kind == StatKind::histogram) continue;
        counters_.push_back(
            {g, s, i, {groups[g].instances[i], std::string(stat.name), std::string(stat.unit), {}}});
      }
    }
  }
}

void Recording::begin() {
  begun_ = true;
  auto& system = model_.assembly->system();
  bool others = false;
  for (ComponentId id = 0; id < system.component_count(); ++id)
    others = others || (shown_[id] && dynamic_cast<Sm const*>(&system.component(id)) == nullptr);
  AccessSample sample;
  sample.from = options_.from;
  sample.to = options_.to;
  sample.one_in = options_.one_in;
  sample.seed = model_.run.seed;
  sample.most = static_cast<std::uint32_t>(std::max<std::uint64_t>(options_.most / std::max(sms_, 1U), 1));
  auto const clock = model_.machine_config.gpu.clock.clock();
  sample.translation_back = clock.cycles(model_.machine_config.gpu.translation_latency);
  sample.line_back = clock.cycles(model_.machine_config.gpu.crossbar_latency);
  std::vector<Observer*> observers(system.component_count());
  for (ComponentId id = 0; id < system.component_count(); ++id) {
    if (!engine_.is_local(id)) continue;
    auto const& component = system.component(id);
    if (auto const* sm = dynamic_cast<Sm const*>(&component); sm != nullptr && (others || shown_[id])) {
      accesses_.push_back(std::make_unique<AccessWatch>(*sm, sample));
      observers[id] = accesses_.back().get();
    } else if (auto const* host = dynamic_cast<Host const*>(&component)) {
      kernels_.push_back(std::make_unique<KernelWatch>(*host));
      observers[id] = kernels_.back().get();
    }
  }
  engine_.observe(std::move(observers));
  pause_ = std::max((options_.to - options_.from) / kSamples, Duration{1});
}

void Recording::reached() {
  auto const now = next_;
  if (!begun_) begin();
  if (now <= options_.to) {
    sampler_.sample(now, false);
    sampled(now);
  }
  if (now < options_.to) {
    next_ = std::min(now + pause_, options_.to);
    return;
  }
  // The accesses of the window are followed until they complete.
  std::uint64_t mine = 0;
  for (auto const& watch : accesses_) mine += watch->outstanding();
  if (transport_.max(mine) == 0) {
    engine_.observe({});
    next_ = Time::max();
    return;
  }
  pause_ = now == options_.to ? options_.to - options_.from : 2 * pause_;
  next_ = Time::max() - now > pause_ ? now + pause_ : Time::max();
}

void Recording::sampled(Time at) {
  if (at < options_.from || at > options_.to || !begun_) return;
  for (auto& c : counters_) {
    auto const value = sampler_.value(c.group, c.stat, c.instance);
    auto& values = c.track.values;
    if (values.empty() || values.back().second != value) values.emplace_back(at, value);
  }
}

void Recording::write(Time end) {
  Seen mine;
  for (auto const& watch : accesses_) {
    mine.omitted += watch->omitted();
    auto taken = watch->take(end);
    std::move(taken.begin(), taken.end(), std::back_inserter(mine.accesses));
  }
  for (auto const& watch : kernels_)
    mine.kernels.insert(mine.kernels.end(), watch->spans().begin(), watch->spans().end());
  engine_.observe({});
  next_ = Time::max();
  std::vector<std::byte> bytes;
  Saver saver(bytes);
  saver(mine);
  auto const parts = transport_.gather(bytes);
  if (transport_.rank() != 0) return;
  TraceContent content;
  content.end = end;
  for (auto const& part : parts) {
    Seen theirs;
    Loader loader(part);
    loader(theirs);
    std::move(theirs.accesses.begin(), theirs.accesses.end(), std::back_inserter(content.accesses));
    content.kernels.insert(content.kernels.end(), theirs.kernels.begin(), theirs.kernels.end());
    content.omitted += theirs.omitted;
  }
  // A counter that did not change is omitted.
  for (auto& c : counters_)
    if (c.track.values.size() > 1) content.counters.push_back(std::move(c.track));
  if (!begun_ || end == options_.from)
    remark_ = fmt::format("the trace is empty: the run ended at {}, {} the window starts at {}",
                          to_text(end.time_since_epoch()), end == options_.from ? "when" : "before",
                          to_text(options_.from.time_since_epoch()));
  else if (content.omitted != 0)
    remark_ = fmt::format(
        "the trace has {} accesses and omits {} that exceed the limit of {} per SM; see --trace-sample and "
        "--trace-limit",
        content.accesses.size(), content.omitted,
        std::max<std::uint64_t>(options_.most / std::max(sms_, 1U), 1));
  auto const writing = writing_trace(path_);
  std::ofstream out(writing, std::ios::binary | std::ios::trunc);
  write_trace(out, std::move(content), options_, model_.assembly->system(), shown_,
              model_.applications.applications());
  out << std::flush;
  out.close();
  if (!out || std::rename(writing.c_str(), path_.c_str()) != 0)
    throw RunError("cannot write '" + one_line(path_) + "': " + std::strerror(errno));
  file_ = FileHandle();
}

}  // namespace farfault::cli
