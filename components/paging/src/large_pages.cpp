// SPDX-License-Identifier: Apache-2.0
#include "farfault/paging/large_pages.hpp"

#include <algorithm>
#include <string_view>

#include "farfault/engine/error.hpp"
#include "farfault/engine/units.hpp"

namespace farfault {

namespace {

// "a, b" -> "a", "b"
std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> names;
  while (true) {
    auto const comma = list.find(',');
    auto name = list.substr(0, comma);
    name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
    name = name.substr(0, name.find_last_not_of(' ') + 1);
    names.emplace_back(name);
    if (comma == std::string_view::npos) return names;
    list.remove_prefix(comma + 1);
  }
}

std::string all_names(Applications const& applications) {
  std::string list;
  for (auto const& a : applications)
    for (auto const& b : a.workload->buffers()) list += (list.empty() ? "" : ", ") + b.name;
  return list;
}

bool have_buffer(Applications const& applications, std::string const& name) {
  return std::ranges::any_of(applications, [&](Application const& a) {
    return std::ranges::find(a.workload->buffers(), name, &Buffer::name) != a.workload->buffers().end();
  });
}

// All large pages that overlap `pages`.
PageRange rounded_up(PageRange const& pages, unsigned size) {
  auto const first = first_of(pages.first, size);
  return {first, first_of(pages.first + pages.count - 1, size) + (std::uint64_t{1} << size) - first};
}

}  // namespace

PageRange whole_pages(PageRange const& pages, unsigned size) {
  auto const pages_of_one = std::uint64_t{1} << size;
  auto const first = first_of(pages.first + pages_of_one - 1, size);
  auto const end = first_of(pages.first + pages.count, size);
  return first < end ? PageRange{first, end - first} : PageRange{};
}

LargePages::LargePages(Choice const& choice, Applications const& applications,
                       std::vector<std::vector<PageRange>> const& of_buffer)
    : size_(choice.size) {
  if (choice.none()) return;
  auto const names = choice.buffers == "all" ? std::vector<std::string>{} : names_in(choice.buffers);
  auto const chosen = [&](Buffer const& b) {
    return choice.buffers == "all" || std::ranges::find(names, b.name) != names.end();
  };
  for (std::uint32_t a = 0; a < applications.count(); ++a) {
    auto const& workload = *applications[a].workload;
    for (std::size_t b = 0; b < workload.buffers().size(); ++b) {
      auto const& buffer = workload.buffers()[b];
      if (!chosen(buffer)) continue;
      auto const pages =
          choice.rounds_up ? rounded_up(of_buffer[a][b], size_) : whole_pages(of_buffer[a][b], size_);
      if (pages.count != 0)
        ranges_.push_back(pages);
      else if (!names.empty())
        throw UserError("memory.large_pages: no whole page of memory.large_page_size fits in buffer '" +
                        buffer.name + "' of workload '" + workload.name() + "', of " +
                        to_text(ByteSize{buffer.bytes}));
    }
  }
  auto const who = applications.count() == 1 ? "workload '" + applications[0].workload->name() + "' has"
                                             : std::string("the applications have");
  for (auto const& name : names)
    if (!have_buffer(applications, name))
      throw UserError("memory.large_pages: " + who + " no buffer '" + shown(name) + "'; " +
                      (applications.count() == 1 ? "its" : "their") + " buffers: " + all_names(applications));
}

}  // namespace farfault
