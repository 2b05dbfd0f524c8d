// SPDX-License-Identifier: Apache-2.0
// Reads numbers and words from a TextSource and tracks the line number for messages. Holds one buffer,
// independent of line lengths.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/engine/error.hpp"
#include "text_source.hpp"

namespace farfault::workloads {

class TextScanner {
 public:
  explicit TextScanner(TextSource& source) : source_(source), buffer_(kBuffer) { refill(); }

  // The first bytes of the text, up to 64 KiB. Valid only before anything was read.
  std::string_view sample() const { return {buffer_.data(), size_}; }
  bool sample_is_all() const { return size_ < buffer_.size(); }

  int peek() {
    if (at_ == size_ && !refill()) return -1;
    return static_cast<unsigned char>(buffer_[at_]);
  }

  void skip() {
    if (peek() == '\n') ++line_;
    if (at_ < size_) ++at_;
  }

  void skip_blanks() {
    for (auto c = peek(); c == ' ' || c == '\t' || c == '\r'; c = peek()) ++at_;
  }

  bool at_end() { return peek() < 0; }
  bool at_line_end() {
    auto const c = peek();
    return c == '\n' || c < 0;
  }

  void next_line() {
    while (!at_line_end()) ++at_;
    skip();
  }

  // Skips empty lines and lines that start with `comment`; false at the end of the text.
  bool to_content(char comment) {
    for (;;) {
      skip_blanks();
      if (at_end()) return false;
      if (peek() == '\n' || peek() == comment) {
        next_line();
      } else {
        return true;
      }
    }
  }

  // Skips blanks and reads an unsigned decimal number that ends at a blank or at the line's end.
  std::uint64_t read_count(std::string_view what) {
    skip_blanks();
    std::uint64_t value = 0;
    int digits = 0;
    auto c = peek();
    for (; c >= '0' && c <= '9'; c = peek(), ++digits) {
      if (digits == 18) fail(std::string(what) + " has more than 18 digits");
      value = 10 * value + static_cast<std::uint64_t>(c - '0');
      ++at_;
    }
    if (digits == 0 || !(c == ' ' || c == '\t' || c == '\r' || c == '\n' || c < 0))
      fail("expected " + std::string(what) + ", a whole number; found " + shown(c));
    return value;
  }

  // Reads the rest of the line, at most `limit` characters, without the line's end.
  std::string rest_of_line(std::size_t limit) {
    std::string line;
    for (; !at_line_end(); ++at_) {
      if (line.size() == limit) fail("a line longer than " + std::to_string(limit) + " characters");
      line += buffer_[at_];
    }
    return line;
  }

  // Reads up to `limit` characters up to the next blank.
  std::string read_word(std::size_t limit) {
    skip_blanks();
    std::string word;
    for (auto c = peek(); c > ' '; c = peek()) {
      if (word.size() == limit) fail("a word longer than " + std::to_string(limit) + " characters");
      word += static_cast<char>(c);
      ++at_;
    }
    return word;
  }

  // Skips a floating-point number; graphs do not use its value.
  void skip_number(std::string_view what) {
    skip_blanks();
    int length = 0;
    auto c = peek();
    for (; (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.' || c == 'e' || c == 'E' || c == 'd' ||
           c == 'D';
         c = peek(), ++length)
      ++at_;
    if (length == 0) fail("expected " + std::string(what) + ", a number; found " + shown(c));
  }

  std::uint64_t line() const { return line_; }
  TextSource& source() { return source_; }

  [[noreturn]] void fail(std::string const& what) const {
    throw UserError(one_line(source_.path()) + ":" + std::to_string(line_) + ": " + what);
  }

  static std::string shown(int c) {
    if (c < 0) return "the end of the file";
    if (c == '\n') return "the end of the line";
    if (c > ' ' && c < 127) return std::string("'") + static_cast<char>(c) + "'";
    return "byte " + std::to_string(c);
  }

 private:
  static constexpr std::size_t kBuffer = 64 * 1024;

  bool refill() {
    at_ = 0;
    size_ = source_.read(buffer_.data(), buffer_.size());
    return size_ > 0;
  }

  TextSource& source_;
  std::vector<char> buffer_;
  std::size_t size_ = 0;
  std::size_t at_ = 0;
  std::uint64_t line_ = 1;
};

}  // namespace farfault::workloads
