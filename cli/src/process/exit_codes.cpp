// SPDX-License-Identifier: Apache-2.0
#include "farfault/cli/exit_codes.hpp"

#include <exception>
#include <new>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>

#include "farfault/engine/config.hpp"
#include "farfault/engine/error.hpp"

namespace farfault::cli {
namespace {

// One line of bounded length, even with long names in it: the middle of a longer one is cut.
std::string sentence(std::string_view text) {
  constexpr std::size_t kHead = 600;
  constexpr std::size_t kTail = 300;
  auto const line = one_line(text);
  if (line.size() <= kHead + kTail) return line;
  auto const begins = [&](std::size_t i) { return (static_cast<unsigned char>(line[i]) & 0xC0) != 0x80; };
  auto head = kHead;
  while (!begins(head)) --head;
  auto tail = line.size() - kTail;
  while (!begins(tail)) ++tail;
  return line.substr(0, head) + " ... " + line.substr(tail);
}

}  // namespace

int exit_code_of(std::function<int()> const& body, std::ostream& err) {
  try {
    return body();
  } catch (ConfigErrors const& e) {
    std::istringstream lines(e.what());
    for (std::string line; std::getline(lines, line);) err << "farfault: " << sentence(line) << "\n";
    err.flush();
    return kInputWrong;
  } catch (UserError const& e) {
    err << "farfault: " << sentence(e.what()) << std::endl;
    return kInputWrong;
  } catch (RunError const& e) {
    err << "farfault: " << sentence(e.what()) << std::endl;
  } catch (std::bad_alloc const&) {
    err << "farfault: out of memory" << std::endl;
  } catch (std::exception const& e) {
    err << "farfault: unexpected error: " << sentence(e.what()) << std::endl;
  }
  return kRunFailed;
}

}  // namespace farfault::cli
