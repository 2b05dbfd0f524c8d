#include "farfault/results/explain.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>

#include "farfault/engine/error.hpp"
#include "guard.hpp"
#include "time_parts.hpp"
#include "walk.hpp"

namespace farfault::results {
namespace {

constexpr std::uint64_t kParts = 20;  // of the run, over time
constexpr double kHalf = 0.5;         // from here on something bounds a run

// Components of a kind, the time that each is busy, and the stages in which accesses wait for them.
struct Component {
  char const* series;
  char const* metric;
  char const* what;
  std::vector<char const*> stages;
};
std::vector<Component> const& components() {
  static std::vector<Component> const all{
      {"dram",
       "busy_time",
       "DRAM channels",
       {"dram", "dram_queue", "l2_cache", "remote_memory", "walk", "walk_queue", "l2_tlb"}},
      {"l2_slice",
       "busy_time",
       "L2 cache slices",
       {"l2_cache", "remote_memory", "walk", "walk_queue", "l2_tlb"}},
      {"cpu_dram", "busy_time", "DRAM channels of CPUs", {"remote_memory", "iommu"}},
      {"llc_slice", "busy_time", "cache slices of CPUs", {"remote_memory", "iommu"}},
      {"l2_tlb", "busy_time", "L2 TLBs", {"l2_tlb"}},
      {"gmmu", "walker_busy_time", "page walkers", {"walk", "walk_queue", "l2_tlb"}},
      {"iommu", "walker_busy_time", "page walkers of IOMMUs", {"iommu"}},
      {"driver", "busy_time", "drivers", {"fault"}},
  };
  return all;
}

std::vector<std::uint64_t> words(hid_t file, std::string const& path, std::uint64_t rows) {
  auto const dataset = open_dataset(file, path);
  auto const shape = shape_of_dataset(dataset);
  bool const counts = shape.kind == Kind::unsigned_integer || shape.kind == Kind::integer;
  if (!counts || shape.row_values != 1 || shape.rows() != rows)
    throw Hdf5Failure(path + " is no list of as many numbers as there are rows");
  return read_words(dataset, shape, 0, rows);
}

std::vector<std::string> texts(hid_t file, std::string const& path) {
  auto const dataset = open_dataset(file, path);
  auto const shape = shape_of_dataset(dataset);
  if (shape.kind != Kind::text || shape.extents.size() != 1) throw Hdf5Failure(path + " is no list of texts");
  return read_texts(dataset, shape, 0, shape.rows());
}

std::map<std::string, std::uint64_t> figures_of_machine(hid_t file) {
  auto const folder = std::string("/summary/machine");
  if (!has(file, "summary") || !has(file, "summary/machine"))
    throw UserError("there is no summary in it yet: its run is under way, or was killed");
  std::map<std::string, std::uint64_t> figures;
  for (auto const& metric : link_names(open_group(file, folder)))
    if (metric != "name") figures[metric] = words(file, folder + "/" + metric, 1).at(0);
  return figures;
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

// A counter of one instance, between its samples as if it grew evenly.
class Growth {
 public:
  Growth(hid_t file, std::string const& folder, std::string const& metric)
      : dataset_(open_dataset(file, folder + "/" + metric)), shape_(shape_of_dataset(dataset_)) {
    auto const rows = shape_of_dataset(open_dataset(file, folder + "/time_ps")).rows();
    times_ = words(file, folder + "/time_ps", rows);
    names_ = texts(file, folder + "/instance");
    if (shape_.kind != Kind::unsigned_integer || shape_.rows() != rows || shape_.row_values != names_.size())
      throw Hdf5Failure(folder + "/" + metric + " does not fit its coordinates");
  }
  bool empty() const { return times_.empty() || names_.empty(); }
  std::vector<std::string> const& names() const { return names_; }
  std::vector<std::uint64_t> last() const { return row(times_.size() - 1); }
  // In equal parts until `end`, by how much it grew for each ps.
  std::vector<double> rates(std::size_t instance, std::uint64_t end) const {
    std::vector<double> rates;
    auto before = 0.0;
    for (std::uint64_t part = 1; part <= kParts; ++part) {
      auto const value = at(instance, static_cast<double>(end) * static_cast<double>(part) / kParts);
      rates.push_back((value - before) / (static_cast<double>(end) / kParts));
      before = value;
    }
    // What counts work when it is taken on does not say when it was done.
    if (std::ranges::any_of(rates, [](double rate) { return rate > 1.01; })) rates.clear();
    return rates;
  }

 private:
  std::vector<std::uint64_t> row(std::size_t number) const { return read_words(dataset_, shape_, number, 1); }
  double at(std::size_t instance, double time) const {
    auto const next = static_cast<std::size_t>(
        std::ranges::upper_bound(times_, static_cast<std::uint64_t>(time)) - times_.begin());
    auto const value = [&](std::size_t number) { return static_cast<double>(row(number).at(instance)); };
    auto const v0 = next == 0 ? 0.0 : value(next - 1);
    if (next == times_.size()) return v0;
    auto const t0 = next == 0 ? 0.0 : static_cast<double>(times_[next - 1]);
    return v0 + (value(next) - v0) * (time - t0) / (static_cast<double>(times_[next]) - t0);
  }

  Handle dataset_;
  Shape shape_;
  std::vector<std::uint64_t> times_;
  std::vector<std::string> names_;
};

std::optional<Growth> growth_of(hid_t file, std::string const& series, std::string const& metric) {
  auto const folder = "timeseries/" + series;
  if (!has(file, folder) || !has(file, folder + "/" + metric)) return std::nullopt;
  Growth growth(file, folder, metric);
  return growth.empty() ? std::nullopt : std::optional(std::move(growth));
}

Resource busiest_of(std::string what, std::vector<std::string> const& names,
                    std::vector<std::uint64_t> const& busy, std::uint64_t end) {
  auto const first = static_cast<std::size_t>(std::ranges::max_element(busy) - busy.begin());
  Resource r;
  r.what = std::move(what);
  r.name = names[first];
  r.alike = names.size();
  r.busy = share(busy[first], end);
  for (auto const b : busy) r.average += share(b, end) / static_cast<double>(busy.size());
  return r;
}

std::optional<Resource> read_component(hid_t file, Component const& c, std::uint64_t end) {
  auto const growth = growth_of(file, c.series, c.metric);
  if (!growth || end == 0) return std::nullopt;
  auto r = busiest_of(c.what, growth->names(), growth->last(), end);
  auto const place = std::ranges::find(growth->names(), r.name) - growth->names().begin();
  r.over_time = growth->rates(static_cast<std::size_t>(place), end);
  return r;
}

// Over time a link is known where its sender has no other one: its statistics are those of all its links.
std::optional<Resource> read_links(hid_t file, std::uint64_t end) {
  if (!has(file, "tables/links") || end == 0) return std::nullopt;
  auto const column = [&](std::string const& name) { return texts(file, "tables/links/" + name); };
  auto const from = column("from"), to = column("to"), senders = column("sender");
  auto const busy = words(file, "tables/links/busy_time", from.size());
  if (from.empty() || to.size() != from.size() || senders.size() != from.size()) return std::nullopt;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < from.size(); ++i) names.push_back(from[i] + " to " + to[i]);
  auto r = busiest_of("links, each direction", names, busy, end);
  auto const& sender = senders[static_cast<std::size_t>(std::ranges::max_element(busy) - busy.begin())];
  if (std::ranges::count(senders, sender) != 1) return r;
  for (auto const& series : link_names(open_group(file, "/timeseries"))) {
    auto const growth = growth_of(file, series, "busy_time");
    if (!growth) continue;
    auto const place = std::ranges::find(growth->names(), sender);
    if (place == growth->names().end()) continue;
    r.over_time = growth->rates(static_cast<std::size_t>(place - growth->names().begin()), end);
    break;
  }
  return r;
}

void put(Pack& pack, Resource const& r) {
  auto const parts_of_million = [](double x) { return static_cast<std::uint64_t>(std::max(0.0, x) * 1e6); };
  pack.put(1);
  pack.put(r.what);
  pack.put(r.name);
  pack.put(r.alike);
  pack.put(parts_of_million(r.busy));
  pack.put(parts_of_million(r.average));
  pack.put(parts_of_million(r.waited));
  pack.put(r.over_time.size());
  for (auto const x : r.over_time) pack.put(parts_of_million(x));
}

Resource take_resource(Pack& pack) {
  auto const number = [&pack] { return std::min(1.0, static_cast<double>(pack.number()) / 1e6); };
  Resource r;
  r.what = pack.text();
  r.name = pack.text();
  r.alike = pack.number();
  r.busy = number();
  r.average = number();
  r.waited = number();
  for (auto n = pack.number(); n != 0; --n) r.over_time.push_back(number());
  return r;
}

void put_parts(Pack& pack, std::map<std::string, std::uint64_t> const& figures,
               std::span<Named const> parts) {
  for (auto const& [name, what] : parts) {
    auto const found = figures.find(name);
    if (found == figures.end()) continue;
    pack.put(1);
    pack.put(name);
    pack.put(what);
    pack.put(found->second);
  }
  pack.put(std::uint64_t{0});
}

std::vector<TimePart> take_parts(Pack& pack) {
  std::vector<TimePart> parts;
  while (pack.number() != 0) {
    TimePart part{pack.text(), pack.text(), 0};
    part.ps = pack.number();
    parts.push_back(std::move(part));
  }
  std::ranges::stable_sort(parts, [](TimePart const& a, TimePart const& b) { return a.ps > b.ps; });
  return parts;
}

std::string read_all(hid_t file) {
  check_is_result(file);
  auto const figures = figures_of_machine(file);
  auto const of = [&](std::string const& name) {
    auto const found = figures.find(name);
    return found == figures.end() ? std::uint64_t{0} : found->second;
  };
  if (!figures.contains("sm_access_time"))
    throw UserError("it is of an earlier version of the program, which did not say where the time went");
  Pack pack;
  pack.put(text_attribute(open_group(file, "/"), "end_reason"));
  for (auto const* name : {"end", "sm_transactions", "sm_access_time", "sm_time"}) pack.put(of(name));
  put_parts(pack, figures, kSms);
  put_parts(pack, figures, kStages);
  auto const end = of("end");
  // What waits in the load/store unit waits for what is behind it.
  auto const behind = of("sm_access_time") - std::min(of("sm_access_time"), of("sm_time_in_load_store"));
  auto const add = [&](std::optional<Resource> r, std::span<char const* const> stages) {
    if (!r) return;
    std::uint64_t waited = 0;
    for (auto const* stage : stages) waited += of(std::string("sm_time_in_") + stage);
    r->waited = share(waited, behind);
    put(pack, *r);
  };
  for (auto const& c : components()) add(read_component(file, c, end), c.stages);
  constexpr char const* kOfLinks[] = {"links"};
  add(read_links(file, end), kOfLinks);
  pack.put(std::uint64_t{0});
  return pack.take();
}

}  // namespace

std::size_t busy_parts(Resource const& r) {
  return static_cast<std::size_t>(
      std::ranges::count_if(r.over_time, [](double busy) { return busy >= 0.9; }));
}

Explanation explain(std::string const& path) {
  check_readable(path);
  Pack pack(read_guarded(path, [&](hid_t file) {
    try {
      return read_all(file);
    } catch (UserError const& why) {
      throw UserError("'" + path + "' cannot be explained: " + why.what());
    }
  }));
  Explanation e;
  e.path = path;
  e.end_reason = pack.text();
  for (auto* field : {&e.end_ps, &e.accesses, &e.access_ps, &e.sm_ps}) *field = pack.number();
  e.sms = take_parts(pack);
  e.stages = take_parts(pack);
  while (pack.number() != 0) e.resources.push_back(take_resource(pack));
  auto const time_of = [&](std::string_view name) {
    auto const found = std::ranges::find(e.sms, name, &TimePart::name);
    return found == e.sms.end() ? std::uint64_t{0} : found->ps;
  };
  auto const with_warps = e.sm_ps - std::min(e.sm_ps, time_of("sm_idle_time"));
  e.executing = share(time_of("sm_active_time"), with_warps);
  e.idle = share(time_of("sm_idle_time"), e.sm_ps);
  for (auto& r : e.resources) r.weight = r.busy * r.waited;
  std::erase_if(e.resources, [](Resource const& r) { return r.weight == 0; });
  std::ranges::stable_sort(e.resources,
                           [](Resource const& a, Resource const& b) { return a.weight > b.weight; });
  auto const first_that = [&](auto&& bounds, Bound what) {
    auto const found = std::ranges::find_if(e.resources, bounds);
    if (found == e.resources.end()) return false;
    std::rotate(e.resources.begin(), found, found + 1);
    e.bound = what;
    return true;
  };
  if (e.executing >= kHalf)
    e.bound = Bound::execution;
  else if (!first_that([](Resource const& r) { return r.busy >= kHalf; }, Bound::resource))
    first_that([](Resource const& r) { return busy_parts(r) >= 2; }, Bound::phase);
  return e;
}

std::string to_json(Explanation const& e) {
  using Json = nlohmann::ordered_json;
  constexpr char const* words_of_bound[] = {"execution", "resource", "phase", "latency"};
  auto const parts = [](std::vector<TimePart> const& from) {
    Json list = Json::array();
    for (auto const& p : from) list.push_back({{"name", p.name}, {"what", p.what}, {"ps", p.ps}});
    return list;
  };
  Json resources = Json::array();
  for (auto const& r : e.resources)
    resources.push_back({{"what", r.what},
                         {"busiest", r.name},
                         {"alike", r.alike},
                         {"busy", r.busy},
                         {"average", r.average},
                         {"waited_for", r.waited},
                         {"weight", r.weight},
                         {"over_time", r.over_time}});
  Json const all{
      {"kind", "explanation"},      {"path", e.path},
      {"end_reason", e.end_reason}, {"end_ps", e.end_ps},
      {"accesses", e.accesses},     {"access_ps", e.access_ps},
      {"sm_ps", e.sm_ps},           {"bound_by", words_of_bound[static_cast<std::size_t>(e.bound)]},
      {"executing", e.executing},   {"idle", e.idle},
      {"sms", parts(e.sms)},        {"stages", parts(e.stages)},
      {"resources", resources}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace farfault::results
