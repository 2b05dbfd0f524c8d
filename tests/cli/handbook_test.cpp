// SPDX-License-Identifier: Apache-2.0
#include "show/handbook.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "farfault/engine/error.hpp"

namespace handbook_test {

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

constexpr auto kNames =
    "driver.batch.eviction_order\tdriver.html#order\tparameter\n"
    "gpu.gmmu.walkers\tgpu.html#walkers\tparameter\n"
    "iommu.walkers\tiommu.html#walkers\tparameter\n"
    "iommu.walkers\tiommu.html#walkers\tterm\n"
    "/timeseries/driver/busy_time\tstatistics.html#driver-busy\tstatistic\n"
    "/timeseries/driver/page_lifetime\tstatistics.html#lifetime\tstatistic\n"
    "/timeseries/l2_tlb/busy_time\tstatistics.html#l2-busy\tstatistic\n"
    "/tables/fault_batches\ttables.html#batches\ttable\n"
    "/tables/fault_batches/pages\ttables.html#pages\tstatistic\n"
    "pages\tglossary.html#pages\tterm\n";

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

TEST_CASE("the last part of a key or path, or a statistic as compare prints it, has the place of its name") {
  struct Case {
    std::string word, place;
  };
  Installed const i("docs/html", kNames);
  auto const folder = handbook_folder(i.program);
  for (auto const& c : std::vector<Case>{{"eviction_order", "driver.html#order"},
                                         {"batch.Eviction_Order", "driver.html#order"},
                                         {"gmmu.walkers", "gpu.html#walkers"},
                                         {"fault_batches", "tables.html#batches"},
                                         {"page_lifetime", "statistics.html#lifetime"},
                                         {"driver/page_lifetime", "statistics.html#lifetime"},
                                         {"driver_page_lifetime", "statistics.html#lifetime"},
                                         {"l2_tlb_busy_time", "statistics.html#l2-busy"},
                                         {"fault_batches/pages", "tables.html#pages"}}) {
    CAPTURE(c.word);
    CHECK(handbook_places(folder, c.word) == std::vector{folder + "/" + c.place});
  }
}

TEST_CASE("a word that is the end of several names lists each name once, with its page") {
  Installed const i("docs/html", kNames);
  auto const folder = handbook_folder(i.program);
  CHECK(handbook_places(folder, "walkers") ==
        std::vector{"gpu.gmmu.walkers  " + folder + "/gpu.html#walkers",
                    "iommu.walkers     " + folder + "/iommu.html#walkers"});
  CHECK(handbook_places(folder, "busy_time") ==
        std::vector{"/timeseries/driver/busy_time  " + folder + "/statistics.html#driver-busy",
                    "/timeseries/l2_tlb/busy_time  " + folder + "/statistics.html#l2-busy"});
  // A whole name precedes names that end with it.
  CHECK(handbook_places(folder, "pages") == std::vector{folder + "/glossary.html#pages"});
}

TEST_CASE("a word that the handbook does not define is refused, with a near name and where to look") {
  Installed const i("docs/html", std::string(kWords) + kNames);
  auto const folder = handbook_folder(i.program);
  auto const where = [&](std::string const& word) {
    return "the pages are in " + folder + "/guide, their search is " + folder +
           "/search.html, and farfault params --search " + word + " searches parameters";
  };
  auto const sentence = [&](std::string const& word) {
    return refusal([&] { handbook_places(folder, word); });
  };
  CHECK(sentence("gpu.l2_tlb.entry") ==
        "the handbook does not define 'gpu.l2_tlb.entry'; did you mean 'gpu.l2_tlb.entries'? If not, " +
            where("gpu.l2_tlb.entry"));
  CHECK(sentence("eviction_ordr") ==
        "the handbook does not define 'eviction_ordr'; did you mean 'eviction_order'? If not, " +
            where("eviction_ordr"));
  // A name that differs in more than a third of the letters is not suggested. An end begins after a dot or
  // slash.
  for (std::string const word : {"quantum chromodynamics", "lime", "order", "_order", "time", "busy_ta"}) {
    CAPTURE(word);
    CHECK(sentence(word) == "the handbook does not define '" + word + "'; " + where(word));
  }
}

TEST_CASE("a parameter's page is that of its component or section, its anchor that of its key") {
  CHECK(parameter_page("gpu.sms") == "reference/parameters/gpu.html#gpu-sms");
  CHECK(parameter_page("gpu.l1_tlb.entries") == "reference/parameters/gpu-l1-tlb.html#gpu-l1-tlb-entries");
  CHECK(parameter_page("gpu.l1_tlb.compressed.ratio") ==
        "reference/parameters/gpu-l1-tlb.html#gpu-l1-tlb-compressed-ratio");
  CHECK(parameter_page("workload.bfs.graph") == "reference/parameters/workload.html#workload-bfs-graph");
  CHECK(parameter_page("machine.cluster.Odd__name_") ==
        "reference/parameters/machine.html#machine-cluster-odd-name");
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

}  // namespace handbook_test
