// SPDX-License-Identifier: Apache-2.0
// Page maps: the device of each page, from an earlier run or written by hand.
//
//   page,device
//   1048576,gpu0
//   1048577,gpu3
//
// - Format: a heading, then one line per page with its virtual page number and device. Blank lines are
//   ignored. Devices are named by their node in the machine (`m1.gpu0`), or by kind and number.
// - These are the columns `page` and `device` of `/tables/first_touches` in a result. The order of lines is
//   the order in which that run allocated frames, if one driver wrote the table and no memory ran out of
//   large frames.
// - Cost: one pass, 24 bytes per line, and each name once.
// - Errors: UserError with file, line, value and rule for a file over 64 MiB, a malformed line, a page that
//   is listed twice.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace farfault {

struct MappedPage {
  std::uint64_t page = 0;
  std::uint64_t line = 0;
  std::uint32_t device = 0;  // index in PageMap::devices
};

struct PageMap {
  std::string path;  // path as opened
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;              // FNV-1a of the file's bytes
  std::vector<MappedPage> pages{};     // in file order
  std::vector<std::string> devices{};  // names, in order of first occurrence

  // Throws UserError with the line of `at` and the error `what`.
  [[noreturn]] void refuse(MappedPage const& at, std::string const& what) const;
};

PageMap parse_page_map(std::string_view text, std::string const& path);
PageMap load_page_map(std::string const& path);

}  // namespace farfault
