// SPDX-License-Identifier: Apache-2.0
// Decides which files a result may replace.
#include <hdf5.h>

#include <filesystem>
#include <string_view>

#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"
#include "farfault/results/reading/guard.hpp"
#include "farfault/results/reading/walk.hpp"
#include "writer_impl.hpp"

namespace farfault::results {
namespace {

constexpr std::string_view kHdf5 = "\x89HDF\r\n\x1a\n";

// True if a kill before the first flush can leave a file that begins like this: zeros for the superblock, or
// part of it.
bool is_unwritten(std::string const& begin) {
  return begin.find_first_not_of('\0') == begin.npos || (begin != kHdf5 && kHdf5.starts_with(begin));
}

enum class Content : std::uint8_t { result, sweep, something_else, unreadable };

Content content_of(std::string const& path) {
  try {
    auto const answer = read_guarded(path, [](hid_t file) {
      auto const root = open_group(file, "/");
      if (link_names(root).empty() && attribute_names(root).empty()) return std::string("nothing");
      if (H5Aexists(root, "schema_version") <= 0 || text_attribute(root, "farfault_version").empty())
        return std::string("other");
      return std::string(text_attribute(root, "kind") == "sweep" ? "sweep" : "result");
    });
    if (answer == "nothing") return Content::unreadable;  // left by a full disk
    if (answer == "sweep") return Content::sweep;
    return answer == "result" ? Content::result : Content::something_else;
  } catch (UserError const&) {
    return Content::unreadable;
  }
}

// A file that is missing or empty may be replaced, and a partial file that has only zeros for its first
// block.
bool may_replace(std::string const& path, Content by, bool partial) {
  std::error_code error;
  // Dangling links, folders and devices are refused elsewhere.
  if (!std::filesystem::is_regular_file(path, error)) return true;
  if (!why_not_readable(path).empty()) return false;
  if (partial && std::filesystem::is_symlink(path, error)) return true;
  if (std::filesystem::file_size(path, error) == 0 || error) return true;
  auto const begin = first_bytes(path, kHdf5.size());
  if (begin != kHdf5) return partial && is_unwritten(begin);
  auto const content = content_of(path);
  return content == by || (partial && content == Content::unreadable);
}

}  // namespace

std::string unreplaceable_file(std::string const& path) {
  for (auto const* suffix : {"", ".partial", ".partial.new"})
    if (auto const name = path + suffix; !may_replace(name, Content::result, *suffix != '\0')) return name;
  return {};
}

void refuse_unreplaceable(std::string const& path) {
  if (auto const lost = unreplaceable_file(path); !lost.empty())
    throw UserError("the result '" + one_line(path) + "' would overwrite '" + one_line(lost) +
                    "', which is not the result of a run");
}

void refuse_unreplaceable_sweep(std::string const& path) {
  for (auto const& name : {path, path + ".partial"})
    if (!may_replace(name, Content::sweep, name != path))
      throw UserError("the sweep table '" + one_line(path) + "' would overwrite '" + one_line(name) +
                      "', which is not a sweep table");
}

}  // namespace farfault::results
