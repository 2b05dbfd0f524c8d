// SPDX-License-Identifier: Apache-2.0
// The kinds of failure.
//
// - UserError: an input is wrong. Thrown while a run is being built, never from an event handler;
//   what() is one sentence with the file or key, the value and the rule. The program prints it; exit code 2.
// - RunError: the run could not continue for a reason outside the model (a full disk, a lost rank); exit
//   code 1.
// - panic: a bug. Prints the source location, with the component and the simulated time if known, and aborts.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>

namespace farfault {

// Sentences for the user, one per line. Names and values may hold any bytes: characters that would end
// the sentence (NUL) or act on a terminal become blanks. Line breaks stay; one_line() removes them.
std::string printable(std::string_view text);

class UserError : public std::runtime_error {
 public:
  explicit UserError(std::string_view what) : std::runtime_error(printable(what)) {}
};

class RunError : public std::runtime_error {
 public:
  explicit RunError(std::string_view what) : std::runtime_error(printable(what)) {}
};

[[noreturn]] void panic(std::string_view what, char const* file, int line);

// Description of the simulation's position in panic() messages of this thread; scopes nest.
class PanicScope {
 public:
  using Describe = std::string (*)(void const*);
  PanicScope(Describe describe, void const* of);
  ~PanicScope();
  PanicScope(PanicScope const&) = delete;
  PanicScope& operator=(PanicScope const&) = delete;

 private:
  friend void panic(std::string_view, char const*, int);
  Describe describe_;
  void const* of_;
  PanicScope const* outer_;
};

// Foreign text for use within a sentence: valid UTF-8 on one line, without characters that move a terminal's
// cursor or reorder words. Control characters (C0, DEL, C1), line separators and directional marks
// become spaces; bytes that are not UTF-8 become U+FFFD.
std::string one_line(std::string_view text);
// The longest prefix of whole UTF-8 characters with at most `most` bytes.
std::string_view first_characters(std::string_view text, std::size_t most);

// one_line() for a value that a user wrote, of any length: text beyond the first 80 bytes is
// cut at a character boundary and replaced by three dots.
std::string shown(std::string_view value);

// "NAME = VALUE must be even": a value that violates a rule. A rule that does not begin with "must" follows a
// colon.
std::string invalid_value(std::string_view name, std::string_view value, std::string_view rule);

// The entry of `known` that is closest to `word` by edit distance, or empty if none is near.
template <class Range>
std::string nearest_name(std::string_view word, Range const& known);
std::size_t edit_distance(std::string_view a, std::string_view b);

template <class Range>
std::string nearest_name(std::string_view word, Range const& known) {
  std::string best;
  std::size_t best_distance = word.size() / 2 + 2;
  for (auto const& candidate : known) {
    std::string_view const name = candidate;
    auto const [shorter, longer] = std::minmax({word.size(), name.size()});  // by value
    if (longer - shorter >= best_distance) continue;  // at least as far as the lengths are apart
    auto const distance = edit_distance(word, name);
    if (distance < best_distance) {
      best_distance = distance;
      best = std::string(name);
    }
  }
  return best;
}

}  // namespace farfault

// Always checked: cheap tests whose failure means that results cannot be trusted.
#define FF_CHECK(condition, what)                  \
  do {                                             \
    if (!(condition)) [[unlikely]]                 \
      ::farfault::panic(what, __FILE__, __LINE__); \
  } while (false)

// Checked in builds with FARFAULT_INVARIANTS (presets debug and asan).
#ifdef FARFAULT_INVARIANTS
#define FF_INVARIANT(condition, what) FF_CHECK(condition, what)
#else
#define FF_INVARIANT(condition, what) static_cast<void>(sizeof(condition))
#endif
