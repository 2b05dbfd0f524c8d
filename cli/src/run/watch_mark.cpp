// SPDX-License-Identifier: Apache-2.0
#include "watch_mark.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "farfault/engine/files.hpp"

namespace farfault::cli {

std::string mark_path(std::string const& result) {
  return result + ".watch";
}

bool WatchMark::touched() {
  auto const now = look();
  return std::exchange(seen_, now) != now && now;
}

std::optional<std::int64_t> WatchMark::look() const {
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) return std::nullopt;
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

WatchTouch::~WatchTouch() {
  if (made_) ::unlink(path_.c_str());
}

bool WatchTouch::touch() {
  FileHandle const file(
      ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) return false;
  if (!S_ISREG(status.st_mode) || status.st_size != 0) return false;
  made_ = true;
  return ::futimens(file.get(), nullptr) == 0;
}

}  // namespace farfault::cli
