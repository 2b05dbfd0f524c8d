// SPDX-License-Identifier: Apache-2.0
// `farfault report`: the content of the page, and the handling of files. report_browser_test.py tests the
// display in a browser.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "capture.hpp"
#include "large_result.hpp"
#include "show/report/machine_graph.hpp"
#include "show/report/page.hpp"
#include "show/report/sections.hpp"

namespace report_test {

namespace fs = std::filesystem;

namespace {

fs::path folder() {
  auto const path = fs::path(FARFAULT_BINARY_DIR) / "report_test";
  fs::create_directories(path);
  return path;
}

std::string content(fs::path const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(fs::path const& path, std::string const& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::size_t count(std::string const& text, std::string const& what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

std::string run_of(std::string const& name, std::vector<std::string> const& sets = {}) {
  auto const path = (folder() / name).string();
  std::vector<std::string> words{"run",        "paper-gmmu-bypass",
                                 "--output",   path,
                                 "--set",      "workload.name=stream",
                                 "--set",      "workload.stream.bytes=64KiB",
                                 "--set",      "gpu.sms=2",
                                 "--threads",  "1",
                                 "--progress", "off"};
  for (auto const& s : sets) words.insert(words.end(), {"--set", s});
  auto const r = farfault_program(words);
  CHECK_MESSAGE(r.code == 0, r.err);
  return path;
}

std::string page_of(std::vector<std::string> words, std::string const& name) {
  auto const output = folder() / name;
  fs::remove(output);
  words.insert(words.begin(), "report");
  words.insert(words.end(), {"-o", output.string()});
  auto const r = farfault_program(words);
  CHECK_MESSAGE(r.code == 0, r.err);
  CHECK(!fs::exists(output.string() + ".writing"));
  return content(output);
}

nlohmann::json data_of(std::string const& page) {
  std::string const tag = "<script type=\"application/json\" id=\"data\">";
  auto const from = page.find(tag) + tag.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}

// A page without the script element that contains its data.
std::string without_data(std::string page) {
  auto const from = page.find("<script type=\"application/json\"");
  return page.erase(from, page.find("</script>", from) - from);
}

// The tags of a page: "<td", "</td".
std::set<std::string> tags_of(std::string const& page) {
  std::set<std::string> tags;
  for (auto at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1))
    tags.insert(page.substr(at, page.find_first_of(" >\n", at) - at));
  return tags;
}

// The description of a statistic must outlive every result, so these texts are never freed.
std::string_view hostile_unit(std::string const& attack) {
  static std::set<std::string> all;
  return *all.insert(attack).first;
}

// A small result in which every text is hostile.
std::string hostile_result(std::string const& attack) {
  farfault::results::RunHeader h;
  h.resolved_config = "[a]\nb = \"" + attack + "\"\n";
  h.command_line = "farfault run " + attack;
  h.nodes = {{attack, attack}, {"gpu0" + attack, "gpu"}, {"gpu1" + attack, "gpu"}};
  h.links = {
      {.a = 0, .b = 1, .kind = attack, .latency_ps = 1, .forward_bytes_per_s = 1, .backward_bytes_per_s = 1}};
  h.series = {
      {"rdma",
       {"gpu0" + attack + ".rdma"},
       large_result::counters({"packets", "bytes", "busy_time"}, "count")},
      {"gmmu",
       {"gpu0" + attack + ".gmmu"},
       {{"walk_latency", hostile_unit(attack), hostile_unit(attack), farfault::StatKind::histogram, 4}}}};
  h.tables = {large_result::header().tables[0], large_result::header().tables[1],
              large_result::header().tables[2]};
  h.tables.push_back({"fault_batches",
                      "Batches.",
                      {{"gpu", "text", "GPU.", farfault::ColumnType::text},
                       {"began", "ps", "Time.", farfault::ColumnType::u64},
                       {"ended", "ps", "Time.", farfault::ColumnType::u64}}});
  h.tables.push_back(large_result::placement_table());
  auto const path = (folder() / "hostile.h5").string();
  farfault::results::ResultWriter writer(path, h);
  using Cells = std::vector<farfault::Cell>;
  auto const number = [](std::uint64_t n) { return n; };
  writer.append_sample(farfault::Time{farfault::Duration{1000}},
                       std::vector<std::uint64_t>{1, 2, 3, 0, 5, 6, 0});
  writer.append_row(0, Cells{attack, number(0), number(900), number(1)});
  writer.append_row(1, Cells{number(0), attack, "gpu0" + attack, attack, number(1), number(2), number(3)});
  writer.append_row(2, Cells{attack, "gpu0" + attack, number(1), number(2)});
  writer.append_row(3, Cells{attack, number(0), number(900)});
  writer.append_row(4, Cells{attack, attack, "gpu0" + attack, number(7)});
  writer.summary({{"machine", "machine", "end", attack, attack, 1000}});
  writer.engine({{"host", attack, attack, attack}});
  writer.finish(attack);
  return path;
}

}  // namespace

TEST_CASE("report: a page shows the bottleneck, the machine, values and the configuration as text") {
  auto const page = page_of({run_of("plain.h5")}, "plain.html");
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(page.ends_with("</html>\n"));
  for (auto const* text : {"Bottleneck: ", "SM activity", "access time by stage", "<svg class=\"machine\"",
                           "gpu0 to switch0: pcie", "All ", "figures of the machine",
                           "[gpu.l2_tlb]\nentries = ", "events_per_second", "The MIT License"})
    CHECK_MESSAGE(page.find(text) != std::string::npos, text);
}

TEST_CASE("report: a page makes no requests and runs only its own script") {
  auto const page = page_of({run_of("plain.h5")}, "plain.html");
  CHECK(count(page, "<script") == 2);  // the data and the page's own script
  CHECK(page.find("default-src 'none'; script-src 'sha256-") != std::string::npos);
  CHECK(page.find("unsafe") == std::string::npos);
  for (auto const* reference : {" src=", "url(", "@import", "<link", "<iframe", "<object", " style="})
    CHECK_MESSAGE(page.find(reference) == std::string::npos, reference);
  CHECK(count(page, " href=") == count(page, " href=\"#"));  // the index
  CHECK(count(page, " href=\"#") > 5);
}

TEST_CASE("report: equal results give equal pages") {
  auto const result = run_of("plain.h5");
  CHECK(page_of({result}, "a.html") == page_of({result}, "b.html"));
}

TEST_CASE("report: markup in names and texts of a result is escaped in the page and its data") {
  auto const clean = page_of({hostile_result("x")}, "clean.html");
  auto const tags = tags_of(without_data(clean));
  std::vector<std::string> attacks{"<script>alert(1)</script>",
                                   "</script><img src=x onerror=alert(1)>",
                                   "\" onload=\"alert(1)",
                                   "' onmouseover='alert(1)",
                                   "<!--<script>",
                                   "]]><svg onload=alert(1)>",
                                   "&lt;script&gt;",
                                   "</pre></title>",
                                   "\u2028alert(1)\u2029",
                                   "\x80<script>\xff"};
  std::string all;
  for (auto const& attack : attacks) all += attack;
  attacks.push_back(all);  // report_browser_test.py opens this one
  for (auto const& attack : attacks) {
    CAPTURE(attack);
    auto const page = page_of({hostile_result(attack)}, "hostile.html");
    auto const markup = without_data(page);
    for (auto const* tag : {"<script", "</script", "<img", "<svg", "<!--", "</pre", "</title"})
      CHECK_MESSAGE(count(page, tag) == count(clean, tag), tag);
    CHECK(std::ranges::includes(tags, tags_of(markup)));
    for (auto const* attribute : {"onload=\"", "onmouseover='"})
      CHECK_MESSAGE(markup.find(attribute) == std::string::npos, attribute);
    CHECK(page.find("\u2028") == std::string::npos);
    CHECK(data_of(page)["runs"].size() == 1);
  }
}

TEST_CASE("report: markup in a file name is escaped") {
  auto const result = run_of("plain.h5");
  auto const named = folder() / "<b onclick=x>.h5";
  fs::copy_file(result, named, fs::copy_options::overwrite_existing);
  auto const page = page_of({named.string()}, "named.html");
  CHECK(page.find("<b onclick") == std::string::npos);
  CHECK(page.find("&lt;b onclick=x&gt;.h5") != std::string::npos);
}

TEST_CASE("report: 1,024 GPUs make a page smaller than 5 MB, with groups in the picture") {
  auto const result = large_result::written((folder() / "large.h5").string());
  auto const page = page_of({result}, "large.html");
  CHECK(page.size() < 5'000'000);
  auto const from = page.find("<svg class=\"machine\"");
  auto const picture = page.substr(from, page.find("</svg>", from) - from);
  CHECK(count(picture, "<rect") <= 64);
  CHECK(picture.find(">0-5</text>") != std::string::npos);
  CHECK(picture.find(">102+</text>") != std::string::npos);  // m102 to m107 do not fit
  CHECK(picture.find(">30-0</text>") == std::string::npos);  // leaf30, leaf31 and spine0
  CHECK(data_of(page)["runs"][0]["link_use"].size() == count(picture, "data-use="));
  CHECK(picture.find("data-gpus=\"0,1,2,3,4,5,6,7,8,9,10,11,") != std::string::npos);
  CHECK(count(page, "<svg class=\"histogram\"") == 1);
  CHECK(page.find("p50: ") != std::string::npos);
  CHECK(count(page, "<svg class=\"placement\"") == 1);
  CHECK(picture.find("m0 to m5: 6 cpu 48 gpu 6 nic 6 pcie_switch; 60 links inside") != std::string::npos);
  auto const data = data_of(page)["runs"][0];
  CHECK(data["traffic"]["per_row"] == 8);
  CHECK(data["kernels"]["rows"] == large_result::kKernels);
  CHECK(data["kernels"]["shown"] == 600);
  for (auto const& series : data["series"]) CHECK(series["rows"].size() <= 8);
  CHECK(data["gpus"]["names"].size() == 1024);
  CHECK(data["gpus"]["stages"].size() == 13);
  CHECK(data["gpus"]["links"]["rows"].size() == 2048);
  for (auto const& clock : data["clocks"]) CHECK(clock.size() <= 401);
}

TEST_CASE("report: links drawn as one show the utilization of the busiest at each moment") {
  using Json = nlohmann::ordered_json;
  // More GPUs than are drawn individually: groups of five.
  Json run{{"nodes", {{"cpu0", "cpu", ""}}}, {"links", Json::array()}, {"link_use", Json::array()}};
  for (std::size_t g = 0; g < 65; ++g) {
    auto const name = "gpu" + std::to_string(g);
    run["nodes"].push_back({name, "gpu", ""});
    run["links"].push_back({0, g + 1, "pcie"});
    auto const more = g == 3 ? 9U : 0U;
    run["link_use"].push_back(
        {{"link", g},
         {"from", name},
         {"to", "cpu0"},
         {"bytes", 64},
         {"packets", 1},
         {"busy", 0.5},
         {"over_time", {{"clock", 2}, {"scale", 0.1}, {"values", {g % 5 + more, nullptr, 1}}}}});
  }
  run["link_use"][64].erase("over_time");
  auto const graph = farfault::cli::machine_graph(run);
  REQUIRE(graph.nodes.size() == 14);
  CHECK(graph.nodes[1].gpus == std::vector<std::size_t>{0, 1, 2, 3, 4});
  auto const values_of = [&](std::size_t group) {
    std::vector<double> values;
    for (auto const& link : graph.links)
      if (link.from == group && link.use) {
        auto const& row = graph.over_time[*link.use];
        CHECK(row["clock"] == 2);
        for (auto const& v : row["values"]) values.push_back(v.get<double>() * row["scale"].get<double>());
      }
    return values;
  };
  auto const first = values_of(1), second = values_of(2);
  REQUIRE(first.size() == 3);
  CHECK(first[0] == doctest::Approx(1.2));
  CHECK(first[1] == 0);
  CHECK(first[2] == doctest::Approx(0.1).epsilon(0.01));
  REQUIRE(second.size() == 3);
  CHECK(second[0] == doctest::Approx(0.4));
  CHECK(values_of(13).empty());  // one of its links has no data
  CHECK(values_of(0).empty());
}

TEST_CASE("report: each buffer's page share per device is drawn and listed") {
  nlohmann::ordered_json const placement{{"devices", {"gpu0", "gpu1", "cpu0"}},
                                         {"per_row", 2},
                                         {"rows", 5},
                                         {"buffers", {{{"name", "in"}, {"all", 8}, {"pages", {1, 7, 0}}}}}};
  auto const html = farfault::cli::placement_section(placement);
  for (auto const* text :
       {"in on gpu1: 7 pages, 87.5%</title>", "in on cpu0: 0 pages, 0.0%</title>", ">87.5%</text>",
        ">12.5%</text>", "fill-opacity=\"0.89\"", "<td>gpu1 87.5%, gpu0 12.5%</td>",
        "Each cell covers 2 devices.", "The 1 largest of 5 buffers."})
    CHECK_MESSAGE(html.find(text) != std::string::npos, text);
  CHECK(count(html, "class=\"some\"") == 2);
}

TEST_CASE("report: several runs are compared, and runs beyond the limit are only compared") {
  std::vector<std::string> results;
  for (auto const* entries : {"32", "64", "128"})
    results.push_back(
        run_of(std::string("entries") + entries + ".h5", {std::string("gpu.l2_tlb.entries=") + entries}));
  auto const page = page_of(results, "several.html");
  CHECK(page.find("Comparison of runs") != std::string::npos);
  CHECK(page.find("gpu.l2_tlb.entries") != std::string::npos);
  auto const data = data_of(page);
  CHECK(data["runs"].size() == 3);
  CHECK(data["comparison"]["settings"][0]["values"] == nlohmann::json{"32", "64", "128"});
  CHECK(count(page, "<section class=\"run\"") == 3);
  auto const room = page.size() - 1000;
  auto const full = farfault::cli::report_page(results, {room});
  CHECK(full.size() < room);
  CHECK(full.find("The page has details of the first 2 of 3 runs") != std::string::npos);
  CHECK(data_of(full)["runs"].size() == 2);
  CHECK(data_of(full)["comparison"]["runs"].size() == 3);
}

TEST_CASE("report: an unfinished run is shown up to its last sample") {
  auto const path = (folder() / "running.h5").string();
  {
    auto h = large_result::header();
    h.series.resize(0);
    h.tables.resize(0);
    farfault::results::ResultWriter writer(path, h);
    writer.flush();
  }
  auto const page = page_of({path + ".partial"}, "running.html");
  CHECK(page.find("it has no summary yet") != std::string::npos);
  CHECK(page.find("running after 0 ps") != std::string::npos);
  fs::remove(path + ".partial");
}

TEST_CASE("report: an earlier report is overwritten, other files are not") {
  auto const result = run_of("plain.h5");
  auto const before = content(result);
  auto const output = folder() / "there.html";
  auto const report = [&](std::string const& to) { return farfault_program({"report", result, "-o", to}); };
  fs::remove(output);
  CHECK(report(output.string()).code == 0);
  CHECK(report(output.string()).code == 0);
  auto const page = content(output);

  for (std::string const other : {"notes", "<!doctype html>\n<html>mine</html>"}) {
    write(output, other);
    auto const r = report(output.string());
    CHECK(r.code == 2);
    CHECK(r.err == "farfault: '" + output.string() +
                       "' exists and is not a Farfault report; choose another output name\n");
    CHECK(content(output) == other);
  }
  auto r = report(result);
  CHECK(r.code == 2);
  CHECK(r.err == "farfault: the report '" + result + "' would overwrite a result\n");
  CHECK(content(result) == before);

  fs::remove(output);
  fs::create_symlink(result, output);
  CHECK(report(output.string()).code == 2);
  CHECK(content(result) == before);
  fs::remove(output);
  write(output.string() + ".writing", "notes");
  CHECK(report(output.string()).code == 2);
  CHECK(content(output.string() + ".writing") == "notes");
  fs::remove(output.string() + ".writing");

  write(output, page);
  r = farfault_program({"report", result, (folder() / "nothing.h5").string(), "-o", output.string()});
  CHECK(r.code == 2);
  CHECK(content(output) == page);
  CHECK(!fs::exists(output.string() + ".writing"));
}

TEST_CASE("report: a file that is not a result is rejected in one sentence") {
  auto const refused = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "report");
    auto const r = farfault_program(words);
    CHECK(r.code == 2);
    CHECK(r.out == "");
    CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
    return r.err;
  };
  auto const output = (folder() / "none.html").string();
  CHECK(refused({"nothing.h5", "-o", output}) == "farfault: cannot read 'nothing.h5': no such file\n");
  auto const text = folder() / "text.h5";
  write(text, "no HDF5");
  CHECK(refused({text.string(), "-o", output}).find("text.h5' ") != std::string::npos);
  CHECK(refused({run_of("plain.h5"), "-o", "/nowhere/report.html"}).find("/nowhere/report.html") !=
        std::string::npos);
  CHECK(refused({run_of("plain.h5"), "-o", folder().string()}).find("directory") != std::string::npos);
  CHECK(refused({}).find("--help") != std::string::npos);
  CHECK(!fs::exists(output));
}

}  // namespace report_test
