// SPDX-License-Identifier: Apache-2.0
#include "perfetto.hpp"

#include <array>
#include <utility>

#include "perfetto_fields.hpp"

namespace farfault::cli {

namespace {

constexpr std::uint64_t kOurSequence = 1;
constexpr std::uint64_t kClearsNames = 1;  // SEQ_INCREMENTAL_STATE_CLEARED
constexpr std::uint64_t kNeedsNames = 2;   // SEQ_NEEDS_INCREMENTAL_STATE
constexpr std::uint64_t kSliceBegin = 1;
constexpr std::uint64_t kSliceEnd = 2;
constexpr std::uint64_t kCounter = 4;
constexpr std::uint64_t kCount = 2;
constexpr std::uint64_t kBytes = 3;

}  // namespace

void ProtoMessage::varint(std::uint64_t value) {
  std::array<char, 10> digits{};
  std::size_t n = 0;
  for (; value >= 0x80; value >>= 7U) digits[n++] = static_cast<char>(value | 0x80U);
  digits[n++] = static_cast<char>(value);
  text_.append(digits.data(), n);
}

void ProtoMessage::number(std::uint32_t field, std::uint64_t value) {
  key(field, 0);
  varint(value);
}

void ProtoMessage::fixed(std::uint32_t field, std::uint64_t value) {
  key(field, 1);
  std::array<char, 8> digits{};
  for (unsigned i = 0; i < 8; ++i) digits[i] = static_cast<char>(value >> 8 * i);
  text_.append(digits.data(), digits.size());
}

void ProtoMessage::bytes(std::uint32_t field, std::string_view value) {
  key(field, 2);
  varint(value.size());
  text_ += value;
}

void TraceChecksum::add(std::string_view packet) {
  hasher_.raw(reinterpret_cast<std::byte const*>(packet.data()), packet.size());
}

PerfettoTrace::PerfettoTrace() : text_(beginning()) {
  checksum_.add(text_);
}

std::string_view PerfettoTrace::beginning() {
  static std::string const first = [] {
    ProtoMessage first_packet, all;
    first_packet.number(packet::kSequence, kOurSequence);
    first_packet.number(packet::kSequenceFlags, kClearsNames);
    all.message(trace::kPacket, first_packet);
    return all.text();
  }();
  return first;
}

void PerfettoTrace::write_packet() {
  whole_.message(trace::kPacket, packet_);
  checksum_.add(whole_.text());
  text_ += whole_.text();
  whole_.clear();
  packet_.clear();
}

PerfettoTrace::Track PerfettoTrace::describe(ProtoMessage& descriptor) {
  descriptor.number(descriptor::kUuid, ++tracks_);
  packet_.number(packet::kSequence, kOurSequence);
  packet_.message(packet::kTrackDescriptor, descriptor);
  write_packet();
  return tracks_;
}

PerfettoTrace::Track PerfettoTrace::process(std::string_view name) {
  ProtoMessage descriptor, about;
  about.number(process_descriptor::kPid, ++processes_);
  about.bytes(process_descriptor::kName, name);
  descriptor.message(descriptor::kProcess, about);
  return describe(descriptor);
}

PerfettoTrace::Track PerfettoTrace::track(Track parent, std::string_view name) {
  ProtoMessage descriptor;
  descriptor.number(descriptor::kParent, parent);
  descriptor.bytes(descriptor::kName, name);
  return describe(descriptor);
}

PerfettoTrace::Track PerfettoTrace::counter(Track parent, std::string_view name, std::string_view unit) {
  ProtoMessage descriptor, about;
  if (unit == "count" || unit == "bytes")
    about.number(counter_descriptor::kUnit, unit == "count" ? kCount : kBytes);
  else
    about.bytes(counter_descriptor::kUnitName, unit);
  descriptor.number(descriptor::kParent, parent);
  descriptor.bytes(descriptor::kName, name);
  descriptor.message(descriptor::kCounter, about);
  return describe(descriptor);
}

std::uint64_t PerfettoTrace::number_of(std::string_view name, Names& names, std::uint32_t field) {
  auto const known = names.find(name);
  if (known != names.end()) return known->second;
  auto const number = names.size() + 1;
  names.emplace(name, number);
  part_.clear();
  part_.number(interned::kNumber, number);
  part_.bytes(interned::kName, name);
  interned_.message(field, part_);
  return number;
}

void PerfettoTrace::event(Time at, bool refers_to_names) {
  packet_.number(packet::kTimestamp, static_cast<std::uint64_t>(picoseconds(at)));
  packet_.number(packet::kSequence, kOurSequence);
  if (refers_to_names) packet_.number(packet::kSequenceFlags, kNeedsNames);
  if (!interned_.text().empty()) packet_.message(packet::kInternedData, interned_);
  packet_.message(packet::kTrackEvent, event_);
  write_packet();
  interned_.clear();
  event_.clear();
}

void PerfettoTrace::begin(Time at, Track track, std::string_view name, std::uint64_t flow,
                          std::vector<Annotation> const& annotations) {
  event_.number(event_field::kType, kSliceBegin);
  event_.number(event_field::kTrack, track);
  event_.number(event_field::kNameNumber, number_of(name, event_names_, interned::kEventNames));
  for (auto const& a : annotations) {
    auto const number = number_of(a.name, annotation_names_, interned::kAnnotationNames);
    part_.clear();
    part_.number(annotation::kNameNumber, number);
    if (a.text.empty())
      part_.number(annotation::kUnsigned, a.number);
    else
      part_.bytes(annotation::kString, a.text);
    event_.message(event_field::kAnnotation, part_);
  }
  if (flow != 0) event_.fixed(event_field::kFlow, flow);
  event(at, true);
}

void PerfettoTrace::end(Time at, Track track) {
  event_.number(event_field::kType, kSliceEnd);
  event_.number(event_field::kTrack, track);
  event(at, false);
}

void PerfettoTrace::count(Time at, Track track, std::uint64_t value) {
  event_.number(event_field::kType, kCounter);
  event_.number(event_field::kTrack, track);
  event_.number(event_field::kCounterValue, value);
  event(at, false);
}

void PerfettoTrace::finish() {
  packet_.number(packet::kSequence, kOurSequence);
  packet_.fixed(packet::kChecksum, checksum_.value());
  write_packet();
}

std::string PerfettoTrace::take() {
  return std::exchange(text_, {});
}

}  // namespace farfault::cli
