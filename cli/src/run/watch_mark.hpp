// SPDX-License-Identifier: Apache-2.0
// Private: signals to a run that it is being watched.
//
// `farfault watch RUN.h5` touches an empty file, RUN.h5.watch, repeatedly, and removes it at the end. A run
// that sees the file's time change flushes its samples more often. Only changes count, so clocks need not
// agree, and a mark left by a killed watcher has no effect.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace farfault::cli {

std::string mark_path(std::string const& result);  // "<result>.watch"

// The side of the run.
class WatchMark {
 public:
  explicit WatchMark(std::string path) : path_(std::move(path)), seen_(look()) {}
  // True if the mark was touched since the last call, or since construction.
  bool touched();

 private:
  std::optional<std::int64_t> look() const;  // modification time in ns, if it exists

  std::string path_;
  std::optional<std::int64_t> seen_;
};

// The side of the watcher; removes the file on destruction.
class WatchTouch {
 public:
  explicit WatchTouch(std::string path) : path_(std::move(path)) {}
  ~WatchTouch();
  WatchTouch(WatchTouch const&) = delete;
  WatchTouch& operator=(WatchTouch const&) = delete;

  // False if this is not possible: the folder is not writable, or the file has content.
  bool touch();

 private:
  std::string path_;
  bool made_ = false;
};

}  // namespace farfault::cli
