// SPDX-License-Identifier: Apache-2.0
// Page maps: which device each page is placed on, as an earlier run found it or somebody wrote it.
//
//   page,device
//   1048576,gpu0
//   1048577,gpu3
//
// A line for each page, by its virtual page number, under a heading; blank lines mean nothing. A device has
// the name of its node of the machine, `m1.gpu0`, or else its kind and number. It is what
// `/tables/first_touches` of a result holds, in the order in which that run gave out frames, where one driver
// wrote it and no memory ran out of large frames. Cost: one pass, 24 bytes per line, and each name once.
// Errors: UserError with file, line, value and rule for a file over 64 MiB, a line of another form, a page
// named twice.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace farfault {

struct MappedPage {
  std::uint64_t page = 0;
  std::uint64_t line = 0;
  std::uint32_t device = 0;  // of PageMap::devices
};

struct PageMap {
  std::string path;  // as it was opened
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;            // FNV-1a of the file's bytes
  std::vector<MappedPage> pages;     // in the order of the file
  std::vector<std::string> devices;  // names, in the order in which they come

  // Throws UserError with the line of `at` and what is wrong with it.
  [[noreturn]] void refuse(MappedPage const& at, std::string const& what) const;
};

PageMap parse_page_map(std::string_view text, std::string const& path);
PageMap load_page_map(std::string const& path);

}  // namespace farfault
