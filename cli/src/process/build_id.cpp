// SPDX-License-Identifier: Apache-2.0
#include "build_id.hpp"

#include <elf.h>
#include <link.h>

#include <cstring>

namespace farfault::cli {

namespace {

// Searches the notes of the first object, which is the program itself.
int find_note(dl_phdr_info* info, std::size_t, void* into) {
  constexpr std::size_t kAlignment = 4;
  auto const padded = [](std::size_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; };
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    auto const& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives addresses as integers
    auto const* at = reinterpret_cast<unsigned char const*>(info->dlpi_addr + segment.p_vaddr);
    auto const* const end = at + segment.p_memsz;
    ElfW(Nhdr) note;
    while (static_cast<std::size_t>(end - at) >= sizeof note) {
      std::memcpy(&note, at, sizeof note);
      auto const* const name = at + sizeof note;
      auto const* const content = name + padded(note.n_namesz);
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
        auto& digits = *static_cast<std::string*>(into);
        for (std::size_t byte = 0; byte < note.n_descsz; ++byte)
          for (int const shift : {4, 0}) digits += "0123456789abcdef"[content[byte] >> shift & 15];
        return 1;
      }
      at = content + padded(note.n_descsz);
    }
  }
  return 1;
}

}  // namespace

std::string build_id() {
  std::string digits;
  dl_iterate_phdr(find_note, &digits);
  return digits;
}

}  // namespace farfault::cli
