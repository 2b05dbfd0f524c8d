// SPDX-License-Identifier: Apache-2.0
// Page maps.
#include <set>

#include "farfault/paging/page_map.hpp"
#include "harness.hpp"

using namespace farfault;
using namespace farfault;

void fuzz_one(fuzz::Bytes input) {
  PageMap map;
  if (!fuzz::accepts([&] { map = parse_page_map(fuzz::text_of(input), "f"); })) return;
  std::set<std::uint64_t> pages;
  std::uint64_t line = 0;
  for (auto const& m : map.pages) {
    fuzz::expect(pages.insert(m.page).second, "a page is placed once");
    fuzz::expect(m.page >> 43U == 0, "a page's address has 48 bits, and 7 of its space");
    fuzz::expect(m.line > line, "lines are in order");
    line = m.line;
    fuzz::expect(m.device < map.devices.size() && !map.devices[m.device].empty(), "a device has a name");
  }
  fuzz::expect(map.bytes == input.size(), "the whole file is read");
}
