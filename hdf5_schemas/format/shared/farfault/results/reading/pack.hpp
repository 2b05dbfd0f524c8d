// SPDX-License-Identifier: Apache-2.0
// Answer of the reading child process to the program (guard.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace farfault::results {

// Numbers and texts in one string, read in the order of the put() calls.
class Pack {
 public:
  Pack() = default;
  explicit Pack(std::string bytes) : bytes_(std::move(bytes)) {}
  void put(std::uint64_t value);
  void put(std::string_view text);
  std::uint64_t number();
  std::string text();
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

}  // namespace farfault::results
