// SPDX-License-Identifier: Apache-2.0
#include "farfault/results/reading/pack.hpp"

#include "farfault/engine/error.hpp"

namespace farfault::results {
namespace {

UserError incomplete() {
  return UserError(
      "the process that reads the file sent an incomplete answer; check the file with `farfault validate`");
}

}  // namespace

void Pack::put(std::uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(value >> shift & 255);
}

void Pack::put(std::string_view text) {
  put(static_cast<std::uint64_t>(text.size()));
  bytes_ += text;
}

std::uint64_t Pack::number() {
  if (bytes_.size() - at_ < 8) throw incomplete();
  std::uint64_t value = 0;
  for (std::size_t i = 8; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes_[at_ + i]);
  at_ += 8;
  return value;
}

std::string Pack::text() {
  auto const size = number();
  if (size > bytes_.size() - at_) throw incomplete();
  auto text = bytes_.substr(at_, size);
  at_ += size;
  return text;
}

}  // namespace farfault::results
