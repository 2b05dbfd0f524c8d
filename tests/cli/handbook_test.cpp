// SPDX-License-Identifier: Apache-2.0
#include "show/handbook.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "farfault/engine/error.hpp"

using namespace farfault;
using namespace farfault::cli;

namespace {

namespace fs = std::filesystem;

// A folder in which farfault and its handbook are installed.
struct Installed {
  fs::path prefix = fs::temp_directory_path() / ("farfault_handbook_" + std::to_string(::getpid()));
  std::string program = (prefix / "bin/farfault").string();

  explicit Installed(std::string const& pages, std::string const& words) {
    fs::create_directories(prefix / "bin");
    fs::create_directories(prefix / pages);
    std::ofstream(prefix / pages / "index.html") << "<html></html>";
    std::ofstream(prefix / pages / "words.tsv") << words;
  }
  ~Installed() { fs::remove_all(prefix); }
};

constexpr auto kWords =
    "gpu.l2_tlb.entries\treference/gpu.html#gpu-l2-tlb-entries\tparameter\n"
    "lane\tglossary.html#term-lane\tterm\n"
    "lane\tglossary.html#term-lane-engine\tterm\n"
    "TLB\tglossary.html#term-tlb\tterm\n"
    "tlb\tglossary.html#term-tlb\tterm\n";

std::string refusal(auto const& body) {
  try {
    body();
  } catch (UserError const& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the handbook is found next to an installed program, and in a build tree") {
  for (std::string const pages : {"share/doc/farfault/html", "docs/html"}) {
    Installed const i(pages, kWords);
    CHECK(handbook_folder(i.program) == (i.prefix / pages).string());
  }
}

TEST_CASE("a handbook that is not installed is one sentence with its path and the remedy") {
  CHECK(refusal([] { handbook_folder("/opt/farfault/bin/farfault"); }) ==
        "the handbook is not installed: /opt/farfault/share/doc/farfault/html/index.html is missing; in a "
        "source tree, "
        "docs/build builds it");
}

TEST_CASE("a word has the places that define it, each once, whatever its case") {
  Installed const i("docs/html", kWords);
  auto const folder = handbook_folder(i.program);
  CHECK(handbook_places(folder, "gpu.l2_tlb.entries") ==
        std::vector{folder + "/reference/gpu.html#gpu-l2-tlb-entries"});
  CHECK(handbook_places(folder, "LANE") ==
        std::vector{folder + "/glossary.html#term-lane", folder + "/glossary.html#term-lane-engine"});
  CHECK(handbook_places(folder, "Tlb") == std::vector{folder + "/glossary.html#term-tlb"});
}

TEST_CASE("a word that the handbook does not define is refused, with the nearest one or the search") {
  Installed const i("docs/html", kWords);
  auto const folder = handbook_folder(i.program);
  CHECK(refusal([&] { handbook_places(folder, "gpu.l2_tlb.entry"); }) ==
        "the handbook does not define 'gpu.l2_tlb.entry'; did you mean 'gpu.l2_tlb.entries'?");
  CHECK(refusal([&] { handbook_places(folder, "quantum chromodynamics"); }) ==
        "the handbook does not define 'quantum chromodynamics'; its search is in " + folder + "/search.html");
}

TEST_CASE("an invalid or missing list of words is refused with its line") {
  Installed const i("docs/html", "a\tb.html\tterm\nwithout tabs\n");
  auto const folder = handbook_folder(i.program);
  CHECK(refusal([&] { handbook_places(folder, "a"); }) ==
        folder +
            "/words.tsv:2 is invalid: a line has a name, a page and a kind, separated by tabs; install the "
            "handbook again");
  fs::remove(folder + "/words.tsv");
  CHECK(refusal([&] { handbook_places(folder, "a"); }) ==
        "cannot read '" + folder + "/words.tsv': no such file");
}

TEST_CASE("without a display, no browser is started") {
  for (auto const* variable : {"DISPLAY", "WAYLAND_DISPLAY"}) ::unsetenv(variable);
  CHECK(!open_in_browser("/tmp/index.html"));
}
