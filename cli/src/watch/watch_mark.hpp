// SPDX-License-Identifier: Apache-2.0
// Private: how a run knows that somebody watches it.
//
// `farfault watch RUN.h5` touches an empty file, RUN.h5.watch, again and again, and removes it in the end. A
// run that sees its time change writes its samples out more often. Only changes count: clocks need not
// agree, and what a watcher that was killed left behind means nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace farfault::cli {

std::string mark_path(std::string const& result);  // "<result>.watch"

// The run's side.
class WatchMark {
 public:
  explicit WatchMark(std::string path) : path_(std::move(path)), seen_(look()) {}
  // Whether it was touched since the last call, or since this was made.
  bool touched();

 private:
  std::optional<std::int64_t> look() const;  // its time, in ns, where it is there

  std::string path_;
  std::optional<std::int64_t> seen_;
};

// The watcher's side; removes the file when it is destroyed.
class WatchTouch {
 public:
  explicit WatchTouch(std::string path) : path_(std::move(path)) {}
  ~WatchTouch();
  WatchTouch(WatchTouch const&) = delete;
  WatchTouch& operator=(WatchTouch const&) = delete;

  // False where that is not possible: the folder may not be written, or a file of that name has content.
  bool touch();

 private:
  std::string path_;
  bool made_ = false;
};

}  // namespace farfault::cli
