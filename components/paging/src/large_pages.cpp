#include "farfault/paging/large_pages.hpp"

#include <algorithm>
#include <string_view>

#include "farfault/engine/error.hpp"

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

std::string all_names(Workload const& workload) {
  std::string list;
  for (auto const& b : workload.buffers()) list += (list.empty() ? "" : ", ") + b.name;
  return list;
}

// What of `pages` lies in whole large pages.
PageRange whole_pages(PageRange const& pages, unsigned size) {
  auto const pages_of_one = std::uint64_t{1} << size;
  auto const first = first_of(pages.first + pages_of_one - 1, size);
  auto const end = first_of(pages.first + pages.count, size);
  return first < end ? PageRange{first, end - first} : PageRange{};
}

}  // namespace

LargePages::LargePages(Choice const& choice, Workload const& workload,
                       std::vector<PageRange> const& of_buffer)
    : size_(choice.size) {
  if (choice.none()) return;
  auto const& buffers = workload.buffers();
  auto const names = choice.buffers == "all" ? std::vector<std::string>{} : names_in(choice.buffers);
  auto const chosen = [&](std::size_t b) {
    return choice.buffers == "all" || std::ranges::find(names, buffers[b].name) != names.end();
  };
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    if (!chosen(b)) continue;
    auto const pages = whole_pages(of_buffer[b], size_);
    if (pages.count != 0)
      ranges_.push_back(pages);
    else if (!names.empty())
      throw UserError("memory.large_pages: no page of memory.large_page_size lies wholly in buffer '" +
                      buffers[b].name + "' of workload '" + workload.name() + "', of " +
                      std::to_string(buffers[b].bytes) + " bytes");
  }
  for (auto const& name : names)
    if (std::ranges::find(buffers, name, &Buffer::name) == buffers.end())
      throw UserError("memory.large_pages: workload '" + workload.name() + "' has no buffer '" + shown(name) +
                      "'; its buffers: " + all_names(workload));
}

}  // namespace farfault
