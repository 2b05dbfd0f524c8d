// SPDX-License-Identifier: Apache-2.0
#include "application_params.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "farfault/engine/error.hpp"
#include "farfault/protocols/kernel.hpp"

namespace farfault::cli {

namespace {

std::string_view trimmed(std::string_view s) {
  while (s.starts_with(' ')) s.remove_prefix(1);
  while (s.ends_with(' ')) s.remove_suffix(1);
  return s;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t n = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return n;
}

}  // namespace

void ApplicationParams::describe(ParamTable& t) {
  t.text("name", name,
         "its name in results, messages and --set application.NAME.sms=15: letters, digits, '_' and '-', not "
         "digits alone; where it is not set, the workload's",
         "assumed");
  t.text("workload", workload,
         "which workload runs; its parameters are in the table of its name below this one", "assumed");
  t.count_or_text("space", space,
                  "its address space: \"own\", or a number from 0 to 127, which applications that share a "
                  "space have in common",
                  "assumed");
  t.text("gpus", gpus, "the GPUs of its host that it runs on: \"all\", or a list such as \"0-2, 5\"",
         "assumed");
  t.count_or_text(
      "sms", sms,
      "its SMs on each of these GPUs: \"all\"; a list such as \"0-14, 20\", of SM 2 alone \"2-2\"; a count, "
      "which takes the lowest that no list and no earlier count on the same GPUs has; or \"equal\": those "
      "that no list and no count has, in equal shares for all applications on the same GPUs that say so",
      "assumed");
  t.duration("start", start, {0ns, 3600s}, "simulated time of its first launch", "assumed");
  t.count("repeats", repeats, {1, 1'000'000}, "how often its program runs, one time after the other",
          "assumed");
  t.flag("relaunch", relaunch,
         "whether its program runs again after that, until every application of its host has run as often as "
         "it repeats; from then on no kernel, copy or other operation begins, and those that run are brought "
         "to their end",
         "assumed");
  program.describe(t);
}

void ProgramParams::describe(ParamTable& t) {
  t.flag("copies", copies,
         "whether the host copies its data to the GPUs and the results back: as the workload itself does (a "
         "trace), or all that the host wrote before the first kernel and all else after the last; otherwise "
         "the data is there from the start; pages that wait for their first touch are passed over "
         "(memory.first_touch_copy)",
         "assumed");
  t.flag("allocates", allocates,
         "whether the host allocates its memory when the program starts and frees it when the program ends; "
         "otherwise the memory is there from the start of the run to its end",
         "assumed");
  t.bytes("small_buffers", small_buffers, {ByteSize{0}, ByteSize{1ULL << 30U}},
          "size below which a buffer is placed in a separate segment, far below the others; 0: all buffers "
          "are adjacent",
          "assumed: adjacent; glibc's malloc: 128KiB");
}

Share Share::list(std::string_view text, std::string_view forms) {
  auto const bad = [&] { return UserError("'" + shown(text) + "' is not " + std::string(forms)); };
  Share share;
  share.kind_ = Kind::list;
  for (std::size_t start = 0; start <= text.size();) {
    auto const end = std::min(text.find(',', start), text.size());
    auto const part = trimmed(text.substr(start, end - start));
    auto const dash = part.find('-');
    auto const first = number_of(trimmed(part.substr(0, dash)));
    auto const last = dash == part.npos ? first : number_of(trimmed(part.substr(dash + 1)));
    if (!first || !last) throw bad();
    if (*last < *first)
      throw UserError("'" + shown(text) + "': " + std::string(part) + " does not go up from low to high");
    share.ranges_.push_back({*first, *last});
    start = end + 1;
  }
  std::ranges::sort(share.ranges_, {}, &Range::first);
  for (std::size_t i = 1; i < share.ranges_.size(); ++i)
    if (share.ranges_[i].first <= share.ranges_[i - 1].last)
      throw UserError("'" + shown(text) + "' names " + std::to_string(share.ranges_[i].first) + " twice");
  return share;
}

Share Share::of(std::string_view text) {
  if (text == "all") return {};
  if (text == "equal") {
    Share share;
    share.kind_ = Kind::equal;
    return share;
  }
  if (auto const n = number_of(text)) {
    Share share;
    share.kind_ = Kind::count;
    share.count_ = *n;
    return share;
  }
  return list(text, "\"all\", \"equal\", a count, or a list such as \"0-14, 20\"");
}

Share Share::all_or_list(std::string_view text) {
  return text == "all" ? Share() : list(text, "\"all\" or a list such as \"0-2, 5\"");
}

std::vector<std::uint32_t> Share::numbers() const {
  std::vector<std::uint32_t> all;
  for (auto const& range : ranges_)
    for (auto n = range.first; n <= range.last; ++n) all.push_back(static_cast<std::uint32_t>(n));
  return all;
}

std::uint32_t space_number(std::string_view text) {
  if (text == "own") return kOwnSpace;
  auto const n = number_of(text);
  if (!n || *n >= kAddressSpaces)
    throw UserError("'" + shown(text) + "' is not \"own\" or a number from 0 to " +
                    std::to_string(kAddressSpaces - 1));
  return static_cast<std::uint32_t>(*n);
}

}  // namespace farfault::cli
