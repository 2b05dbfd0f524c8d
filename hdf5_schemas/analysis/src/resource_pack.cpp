// SPDX-License-Identifier: Apache-2.0
#include "resource_pack.hpp"

#include <algorithm>

namespace farfault::analysis {

void put_resource(Pack& pack, Resource const& r) {
  auto const parts_of_million = [](double x) { return static_cast<std::uint64_t>(std::max(0.0, x) * 1e6); };
  pack.put(1);
  pack.put(r.what);
  pack.put(r.name);
  pack.put(r.full);
  pack.put(r.over_time_of);
  pack.put(r.alike);
  pack.put(parts_of_million(r.busy));
  pack.put(parts_of_million(r.average));
  pack.put(parts_of_million(r.waited));
  pack.put(r.over_time.size());
  for (auto const x : r.over_time) pack.put(parts_of_million(x));
  pack.put(r.stages.size());
  for (auto const& stage : r.stages) pack.put(stage);
}

Resource take_resource(Pack& pack) {
  auto const number = [&pack] { return std::min(1.0, static_cast<double>(pack.number()) / 1e6); };
  Resource r;
  r.what = pack.text();
  r.name = pack.text();
  r.full = pack.text();
  r.over_time_of = pack.text();
  r.alike = pack.number();
  r.busy = number();
  r.average = number();
  r.waited = number();
  for (auto n = pack.number(); n != 0; --n) r.over_time.push_back(number());
  for (auto n = pack.number(); n != 0; --n) r.stages.push_back(pack.text());
  return r;
}

}  // namespace farfault::analysis
