// SPDX-License-Identifier: Apache-2.0
// Private: a trace in the format of Perfetto, one packet after the other.
//
// - Format: Protocol Buffers as in Perfetto's protos/perfetto/trace: trace_packet.proto, track_event.proto,
//   track_descriptor.proto, counter_descriptor.proto, debug_annotation.proto, interned_data.proto. All
//   packets form one sequence; names are written once and then numbered.
// - Time: picoseconds, in fields that Perfetto reads as nanoseconds, because it has no fractions of them.
// - Order: the caller adds tracks before their events, and events by time; at equal times, ends before
//   begins, so that slices of a track nest.
// - Cost: 20 to 150 bytes per event; no memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/engine/archive.hpp"
#include "farfault/engine/time.hpp"

namespace farfault::cli {

// One message of the wire format: fields in order of addition.
class ProtoMessage {
 public:
  void number(std::uint32_t field, std::uint64_t value);
  void fixed(std::uint32_t field, std::uint64_t value);
  void bytes(std::uint32_t field, std::string_view value);
  void message(std::uint32_t field, ProtoMessage const& value) { bytes(field, value.text_); }
  std::string const& text() const { return text_; }
  void clear() { text_.clear(); }

 private:
  void varint(std::uint64_t value);
  void key(std::uint32_t field, std::uint32_t wire) { varint(std::uint64_t{field} << 3U | wire); }

  std::string text_;
};

struct Annotation {
  std::string_view name;
  std::uint64_t number = 0;
  std::string_view text = {};  // replaces the number, unless empty
};

// A checksum over all packets of a trace in order, each with its key and size.
class TraceChecksum {
 public:
  void add(std::string_view packet);
  std::uint64_t value() const { return hasher_.value(); }

 private:
  Hasher hasher_;
};

class PerfettoTrace {
 public:
  using Track = std::uint64_t;

  PerfettoTrace();

  Track process(std::string_view name);
  // Tracks with the same name and parent are displayed together.
  Track track(Track parent, std::string_view name);
  Track counter(Track parent, std::string_view name, std::string_view unit);

  // `flow` links all slices with the same number; 0: none.
  void begin(Time at, Track track, std::string_view name, std::uint64_t flow,
             std::vector<Annotation> const& annotations);
  void end(Time at, Track track);
  void count(Time at, Track track, std::uint64_t value);

  // The last packet: the checksum, which proves that a trace is complete (trace_check.hpp).
  void finish();
  // The bytes added since the last call.
  std::string take();
  // The common beginning of every trace of this class.
  static std::string_view beginning();

 private:
  // Numbers by name.
  using Names = std::map<std::string, std::uint64_t, std::less<>>;

  Track describe(ProtoMessage& descriptor);
  void event(Time at, bool refers_to_names);
  std::uint64_t number_of(std::string_view name, Names& names, std::uint32_t field);
  void write_packet();

  std::string text_;
  TraceChecksum checksum_;
  Track tracks_ = 0;
  std::uint64_t processes_ = 0;
  Names event_names_;
  Names annotation_names_;
  ProtoMessage whole_, packet_, event_, interned_, part_;
};

}  // namespace farfault::cli
