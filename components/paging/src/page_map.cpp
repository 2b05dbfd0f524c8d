// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/page_map.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "farfault/engine/config.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"

namespace farfault {
namespace {

constexpr std::uint64_t kLargestFile = std::uint64_t{64} << 20U;
constexpr std::string_view kHeading = "page,device";
// 48 address bits and 7 bits of address space, in pages of 4 KiB.
constexpr std::uint64_t kMaxPages = std::uint64_t{1} << 43U;

// Parses all of `text` as a number up to `most`.
std::optional<std::uint64_t> number(std::string_view text, std::uint64_t most) {
  std::uint64_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > most) return std::nullopt;
  return value;
}

constexpr std::size_t kLongestName = 255;  // bytes, as for node names of machines

bool is_name(std::string_view text) {
  auto const is_odd = [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == ',' || c == '\x7f'; };
  return !text.empty() && text.size() <= kLongestName && std::ranges::none_of(text, is_odd);
}

void refuse_pages_named_twice(PageMap const& map) {
  auto sorted = map.pages;
  std::ranges::sort(sorted, {}, [](MappedPage const& m) { return std::pair(m.page, m.line); });
  auto const same = [](MappedPage const& a, MappedPage const& b) { return a.page == b.page; };
  auto const twice = std::ranges::adjacent_find(sorted, same);
  if (twice != sorted.end())
    map.refuse(twice[1], "page " + std::to_string(twice->page) + " is already placed by line " +
                             std::to_string(twice->line) + "; a page can be placed only once");
}

}  // namespace

void PageMap::refuse(MappedPage const& at, std::string const& what) const {
  throw UserError(one_line(path) + ":" + std::to_string(at.line) + ": " + what);
}

PageMap parse_page_map(std::string_view text, std::string const& path) {
  PageMap map{.path = path, .bytes = text.size(), .hash = fnv1a(text)};
  std::unordered_map<std::string_view, std::uint32_t> known;
  bool headed = false;
  MappedPage at;
  for (auto rest = text; !rest.empty();) {
    ++at.line;
    auto const end = std::min(rest.find('\n'), rest.size());
    auto line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    if (!headed) {
      // The message must not quote the line: a study can name any file that its user may read.
      if (line != kHeading) map.refuse(at, "the heading '" + std::string(kHeading) + "' is missing");
      headed = true;
      continue;
    }
    auto const comma = std::min(line.find(','), line.size());
    auto const page = number(line.substr(0, comma), kMaxPages - 1);
    auto const device = line.substr(std::min(comma + 1, line.size()));
    if (!page || !is_name(device))
      map.refuse(at, "'" + shown(line) +
                         "' is not a page number below 2^43, a comma and a device, such as '1048576,gpu0'");
    at.page = *page;
    auto const [name, is_new] = known.emplace(device, static_cast<std::uint32_t>(known.size()));
    if (is_new) map.devices.emplace_back(device);
    at.device = name->second;
    map.pages.push_back(at);
  }
  if (!headed)
    throw UserError(one_line(path) + ": not a page map: the heading '" + std::string(kHeading) +
                    "' is missing");
  refuse_pages_named_twice(map);
  return map;
}

PageMap load_page_map(std::string const& path) {
  return parse_page_map(read_text_file(path, kLargestFile), path);
}

}  // namespace farfault
