// SPDX-License-Identifier: Apache-2.0
#include "child_report.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "farfault/engine/error.hpp"

namespace farfault::cli {

ChildReport::ChildReport() {
  auto* const memory =
      ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw RunError(std::string("cannot start a run: ") + std::strerror(errno));
  page_ = new (memory) Page;
}

ChildReport::~ChildReport() {
  if (page_ != nullptr) ::munmap(page_, sizeof(Page));
}

void ChildReport::record(std::string const& sentence) const {
  auto const size = std::min(sentence.size(), kBytes);
  std::memcpy(page_->text, sentence.data(), size);
  page_->text[size] = '\0';
}

std::string ChildReport::sentence() const {
  return {page_->text, ::strnlen(page_->text, kBytes)};
}

void ChildReport::record(RunShare share) const {
  page_->before.store(share.before, std::memory_order_relaxed);
  page_->now.store(share.now, std::memory_order_relaxed);
}

RunShare ChildReport::share() const {
  return {page_->before.load(std::memory_order_relaxed), page_->now.load(std::memory_order_relaxed)};
}

}  // namespace farfault::cli
