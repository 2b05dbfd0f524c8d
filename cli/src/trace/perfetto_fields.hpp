// SPDX-License-Identifier: Apache-2.0
// Private: field numbers of the messages of a trace, from Perfetto's protos/perfetto/trace.
#pragma once

#include <cstdint>

namespace farfault::cli {

namespace trace {
inline constexpr std::uint32_t kPacket = 1;
}
namespace packet {
inline constexpr std::uint32_t kTimestamp = 8;
inline constexpr std::uint32_t kSequence = 10;
inline constexpr std::uint32_t kTrackEvent = 11;
inline constexpr std::uint32_t kInternedData = 12;
inline constexpr std::uint32_t kSequenceFlags = 13;
inline constexpr std::uint32_t kTrackDescriptor = 60;
// Farfault's own field, in the last packet: a hash of all packets before it. Readers skip unknown fields.
inline constexpr std::uint32_t kChecksum = 15000;
}  // namespace packet
namespace descriptor {
inline constexpr std::uint32_t kUuid = 1;
inline constexpr std::uint32_t kName = 2;
inline constexpr std::uint32_t kProcess = 3;
inline constexpr std::uint32_t kParent = 5;
inline constexpr std::uint32_t kCounter = 8;
}  // namespace descriptor
namespace process_descriptor {
inline constexpr std::uint32_t kPid = 1;
inline constexpr std::uint32_t kName = 6;
}  // namespace process_descriptor
namespace counter_descriptor {
inline constexpr std::uint32_t kUnit = 3;
inline constexpr std::uint32_t kUnitName = 6;
}  // namespace counter_descriptor
namespace event_field {
inline constexpr std::uint32_t kAnnotation = 4;
inline constexpr std::uint32_t kType = 9;
inline constexpr std::uint32_t kNameNumber = 10;
inline constexpr std::uint32_t kTrack = 11;
inline constexpr std::uint32_t kCounterValue = 30;
inline constexpr std::uint32_t kFlow = 47;
}  // namespace event_field
namespace annotation {
inline constexpr std::uint32_t kNameNumber = 1;
inline constexpr std::uint32_t kUnsigned = 3;
inline constexpr std::uint32_t kString = 6;
}  // namespace annotation
namespace interned {
inline constexpr std::uint32_t kEventNames = 2;
inline constexpr std::uint32_t kAnnotationNames = 3;
inline constexpr std::uint32_t kNumber = 1;  // of an entry
inline constexpr std::uint32_t kName = 2;
}  // namespace interned

}  // namespace farfault::cli
