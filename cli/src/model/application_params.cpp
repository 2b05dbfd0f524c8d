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
         "Name in results, messages and --set application.NAME.sms=15: letters, digits, '_' and '-', not "
         "digits alone. Default: name of the workload",
         "simulator setting");
  t.text("workload", workload, "Workload to run; its parameters are in the subtable of this name",
         "simulator setting");
  workloads::describe_size(t, size);
  t.count_or_text(
      "space", space,
      "Address space: \"own\", or a number from 0 to 127; applications with the same number share a space",
      "assumed");
  t.text(
      "gpus", gpus,
      "GPUs that run the application, numbered from 0 within a host: \"all\", or a list such as \"0-2, 5\"",
      "simulator setting");
  t.count_or_text(
      "sms", sms,
      "SMs on each GPU of the application: \"all\"; a list such as \"0-14, 20\" (SM 2 alone: \"2-2\"); a "
      "count: the "
      "lowest SMs not taken by lists and earlier counts on these GPUs; \"equal\": an equal share of the SMs "
      "not taken by lists and counts, among the applications on these GPUs with this value",
      "simulator setting");
  t.duration("start", start, {0ns, 3600s}, "Simulated time of the first launch", "simulator setting");
  t.count("repeats", repeats, {1, 1'000'000}, "Number of consecutive executions of the program",
          "simulator setting");
  t.flag("relaunch", relaunch,
         "Run the program again after its repeats, until every application of the host has completed its "
         "repeats. After that, no operation starts, and running ones complete",
         "assumed");
  program.describe(t);
}

void ProgramParams::describe(ParamTable& t) {
  t.flag("copies", copies,
         "Simulate the copies of data to the GPUs and of results back: the copies of the workload (a trace), "
         "or all data written by the host before the first kernel, and all other data after the last kernel. "
         "Otherwise the data is in place from the start. Pages without a first touch are skipped "
         "(memory.first_touch_copy)",
         "assumed");
  t.flag("allocates", allocates,
         "Allocate memory when the program starts and free it when the program ends. Otherwise memory is "
         "allocated for the whole run",
         "assumed");
  t.bytes(
      "small_buffers", small_buffers, {ByteSize{0}, ByteSize{1ULL << 30U}},
      "Buffers below this size are placed in a separate segment, from 1 GiB on; all others start at 4 GiB. "
      "0: one segment",
      "assumed: one segment; glibc's malloc: 128 KiB");
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
      throw UserError("'" + shown(text) + "': " + std::string(part) + " does not ascend from low to high");
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
