#include "farfault/engine/error.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace farfault {

namespace {
thread_local PanicScope const* innermost = nullptr;
}

PanicScope::PanicScope(Describe describe, void const* of) : describe_(describe), of_(of), outer_(innermost) {
  innermost = this;
}

PanicScope::~PanicScope() {
  innermost = outer_;
}

void panic(std::string_view what, char const* file, int line) {
  auto const where = innermost != nullptr ? ", " + innermost->describe_(innermost->of_) : std::string{};
  std::fprintf(stderr, "farfault: internal error: %.*s (%s:%d)%s\n", static_cast<int>(what.size()),
               what.data(), file, line, where.c_str());
  std::abort();
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      auto const above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace farfault
