// SPDX-License-Identifier: Apache-2.0
#include "trace_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "farfault/engine/files.hpp"
#include "perfetto.hpp"
#include "perfetto_fields.hpp"

namespace farfault::cli {
namespace {

constexpr std::uint64_t kMaxOfPacket = std::uint64_t{1} << 20;
enum Wire : std::uint32_t { kWireNumber = 0, kWireFixed = 1, kWireBytes = 2 };

struct ProtoField;
using ProtoFields = std::pair<ProtoField const*, std::size_t>;

// A field that a message may hold; `inner`: the fields of a nested message.
struct ProtoField {
  std::uint32_t number;
  Wire wire;
  ProtoFields inner = {nullptr, 0};
};
template <std::size_t n>
constexpr ProtoFields fields_of(ProtoField const (&fields)[n]) {
  return {fields, n};
}
constexpr ProtoField kEntryFields[] = {{interned::kNumber, kWireNumber}, {interned::kName, kWireBytes}};
constexpr ProtoField kInternedFields[] = {{interned::kEventNames, kWireBytes, fields_of(kEntryFields)},
                                          {interned::kAnnotationNames, kWireBytes, fields_of(kEntryFields)}};
constexpr ProtoField kAnnotationFields[] = {{annotation::kNameNumber, kWireNumber},
                                            {annotation::kUnsigned, kWireNumber},
                                            {annotation::kString, kWireBytes}};
constexpr ProtoField kEventFields[] = {{event_field::kAnnotation, kWireBytes, fields_of(kAnnotationFields)},
                                       {event_field::kType, kWireNumber},
                                       {event_field::kNameNumber, kWireNumber},
                                       {event_field::kTrack, kWireNumber},
                                       {event_field::kCounterValue, kWireNumber},
                                       {event_field::kFlow, kWireFixed}};
constexpr ProtoField kProcessFields[] = {{process_descriptor::kPid, kWireNumber},
                                         {process_descriptor::kName, kWireBytes}};
constexpr ProtoField kCounterFields[] = {{counter_descriptor::kUnit, kWireNumber},
                                         {counter_descriptor::kUnitName, kWireBytes}};
constexpr ProtoField kDescriptorFields[] = {{descriptor::kUuid, kWireNumber},
                                            {descriptor::kName, kWireBytes},
                                            {descriptor::kProcess, kWireBytes, fields_of(kProcessFields)},
                                            {descriptor::kParent, kWireNumber},
                                            {descriptor::kCounter, kWireBytes, fields_of(kCounterFields)}};
constexpr ProtoField kPacketFields[] = {{packet::kTimestamp, kWireNumber},
                                        {packet::kSequence, kWireNumber},
                                        {packet::kTrackEvent, kWireBytes, fields_of(kEventFields)},
                                        {packet::kInternedData, kWireBytes, fields_of(kInternedFields)},
                                        {packet::kSequenceFlags, kWireNumber},
                                        {packet::kTrackDescriptor, kWireBytes, fields_of(kDescriptorFields)},
                                        {packet::kChecksum, kWireFixed}};

// Removes a number from the front of `text`; empty if it is truncated or too long.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < std::min<std::size_t>(text.size(), 10); ++i) {
    auto const byte = static_cast<unsigned char>(text[i]);
    value |= std::uint64_t{byte & 0x7FU} << 7 * i;
    if (byte >= 0x80) continue;
    text.remove_prefix(i + 1);
    return value;
  }
  return std::nullopt;
}

std::uint64_t fixed_number(std::string_view bytes) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < 8; ++i) value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << 8 * i;
  return value;
}

// True if a message holds these fields only. Stores the value of a checksum field in `checksum`.
bool is_message(std::string_view text, ProtoFields fields, std::optional<std::uint64_t>& checksum) {
  while (!text.empty()) {
    auto const key = take_number(text);
    if (!key) return false;
    auto const known = std::find_if(fields.first, fields.first + fields.second, [&](ProtoField const& f) {
      return f.number == *key >> 3U && f.wire == (*key & 7U);
    });
    if (known == fields.first + fields.second) return false;
    if (known->wire == kWireNumber) {
      if (!take_number(text)) return false;
    } else if (known->wire == kWireFixed) {
      if (text.size() < 8) return false;
      if (known->number == packet::kChecksum) checksum = fixed_number(text);
      text.remove_prefix(8);
    } else {
      auto const size = take_number(text);
      if (!size || *size > text.size()) return false;
      if (known->inner.first != nullptr && !is_message(text.substr(0, *size), known->inner, checksum))
        return false;
      text.remove_prefix(*size);
    }
  }
  return true;
}

// Reads the file from its beginning, a piece at a time.
class TraceBytes {
 public:
  explicit TraceBytes(FileHandle file) : file_(std::move(file)) {}
  // The next bytes: `most`, or all remaining ones.
  std::string_view next(std::uint64_t most) {
    if (text_.size() - at_ < most) {
      text_.erase(0, at_);
      at_ = 0;
      text_ += read_bytes(file_, std::max(most, kPiece));
    }
    return std::string_view(text_).substr(at_, most);
  }
  void pass(std::size_t bytes) {
    at_ += bytes;
    position_ += bytes;
  }
  std::uint64_t position() const { return position_; }

 private:
  static constexpr std::uint64_t kPiece = std::uint64_t{1} << 18;
  FileHandle file_;
  std::string text_;
  std::size_t at_ = 0;
  std::uint64_t position_ = 0;
};

std::string why_not_whole(TraceBytes bytes) {
  constexpr std::size_t kMaxOfHead = 11;  // the key of a packet, and its size
  TraceChecksum checksum;
  while (!bytes.next(1).empty()) {
    auto const at = bytes.position();
    auto head = bytes.next(kMaxOfHead);
    auto const in_head = head.size();
    bool const is_packet = take_number(head) == (trace::kPacket << 3U | kWireBytes);
    auto const size = is_packet ? take_number(head) : std::nullopt;
    if (!is_packet || (!size && in_head == kMaxOfHead) || size.value_or(0) > kMaxOfPacket)
      return fmt::format("no packet begins at byte {}", at);
    auto const cut_short = fmt::format("it ends within the packet at byte {}", at);
    if (!size) return cut_short;
    auto const whole_size = in_head - head.size() + *size;
    auto const whole = bytes.next(whole_size);
    if (whole.size() < whole_size) return cut_short;
    std::optional<std::uint64_t> end;
    if (!is_message(whole.substr(whole_size - *size), fields_of(kPacketFields), end))
      return fmt::format("the packet at byte {} is not one that farfault writes", at);
    if (!end) checksum.add(whole);
    bytes.pass(whole_size);
    if (!end) continue;
    if (!bytes.next(1).empty()) return fmt::format("bytes follow its last packet, at byte {}", at);
    return *end == checksum.value() ? std::string() : "its checksum does not match its content";
  }
  return "its last packet, with the checksum, is missing: the file is truncated or from an earlier version";
}

}  // namespace

std::string why_no_whole_trace(std::string const& path) {
  auto input = open_input(path);
  if (!input.why_not.empty()) return input.why_not;
  try {
    return why_not_whole(TraceBytes(std::move(input.file)));
  } catch (std::system_error const& e) {
    return "it cannot be read: " + e.code().message();
  }
}

}  // namespace farfault::cli
