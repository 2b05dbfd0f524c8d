// SPDX-License-Identifier: Apache-2.0
#include <lzma.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "data.hpp"
#include "farfault/workloads/graph.hpp"
#include "temp_file.hpp"
#include "warp_walk.hpp"

namespace farfault::workloads::graph_reader_test {
using namespace test;
namespace {

std::string gzipped(std::string const& text) {
  TempFile const file("x.gz", "");
  auto const out = gzopen(file.path().c_str(), "wb");
  gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
  gzclose(out);
  std::ostringstream bytes;
  bytes << std::ifstream(file.path(), std::ios::binary).rdbuf();
  return bytes.str();
}

std::string xz_of(std::string const& text) {
  std::string out(text.size() + 1024, '\0');
  std::size_t used = 0;
  REQUIRE(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, nullptr,
                                  reinterpret_cast<std::uint8_t const*>(text.data()), text.size(),
                                  reinterpret_cast<std::uint8_t*>(out.data()), &used, out.size()) == LZMA_OK);
  out.resize(used);
  return out;
}

std::vector<std::uint32_t> row(CsrGraph const& g, std::uint64_t v) {
  return {g.targets.begin() + static_cast<std::ptrdiff_t>(g.offsets[v]),
          g.targets.begin() + static_cast<std::ptrdiff_t>(g.offsets[v + 1])};
}

using Row = std::vector<std::uint32_t>;

// The error message of reading `content`, without the folder's name.
std::string complaint(std::string const& name, std::string const& content, GraphOptions const& options = {}) {
  TempFile const file(name, content);
  auto text = error_of([&] { read_graph(file.path(), options); });
  auto const at = text.find(file.path());
  if (at != std::string::npos) text.replace(at, file.path().size(), name);
  return text;
}

constexpr char const* kMarket = "%%MatrixMarket matrix coordinate ";

}  // namespace

TEST_CASE("graphs: the files of the data folder have the vertices and edges given by their sources") {
  struct Known {
    char const* name;
    std::uint64_t vertices, edges;
    bool directed;
    GraphFormat format;
  };
  for (auto const& known :
       {Known{"graphs/cit-HepTh.mtx.gz", 27770, 352807, true, GraphFormat::matrix_market},
        Known{"graphs/soc-Slashdot0902.mtx.gz", 82168, 948464, true, GraphFormat::matrix_market},
        Known{"graphs/astro-ph.graph", 16706, 121251, false, GraphFormat::metis},
        Known{"graphs/wing.graph", 62032, 121544, false, GraphFormat::metis},
        Known{"graphs/power.graph", 4941, 6594, false, GraphFormat::metis},
        Known{"graphs/as20graph.txt", 6474, 26467, true, GraphFormat::snap},
        Known{"graphs/bips98_606.mtx", 7135, 34738, true, GraphFormat::matrix_market},
        Known{"graphs/chesapeake.mtx", 39, 170, false, GraphFormat::matrix_market}}) {
    auto const path = data_file(known.name);
    if (!path) continue;
    CAPTURE(known.name);
    auto const g = read_graph(*path);
    CHECK(g.vertices == known.vertices);
    CHECK(g.file_edges == known.edges);
    CHECK(g.directed == known.directed);
    CHECK(g.format == known.format);
    CHECK(g.offsets.size() == known.vertices + 1);
    CHECK(g.offsets.back() == g.targets.size());
    CHECK(g.file.bytes == std::filesystem::file_size(*path));
  }
}

TEST_CASE("graphs: Matrix Market entries are edges from row to column, in the file's order") {
  TempFile const file(
      "g.mtx", std::string(kMarket) + "real general\n% note\n\n3 3 4\n3 1 1.5e-3\n1 2 -2\n1 1 0\n3 3 7\n");
  auto const g = read_graph(file.path());
  CHECK(g.vertices == 3);
  CHECK(g.directed);
  CHECK(row(g, 0) == Row{1, 0});
  CHECK(row(g, 1).empty());
  CHECK(row(g, 2) == Row{0, 2});
}

TEST_CASE("graphs: a symmetric matrix gives both directions, the diagonal once") {
  TempFile const file("g.mtx", std::string(kMarket) + "integer symmetric\n3 3 3\n2 1 5\n3 2 1\n2 2 9\n");
  auto const g = read_graph(file.path());
  CHECK_FALSE(g.directed);
  CHECK(g.file_edges == 3);
  CHECK(row(g, 0) == Row{1});
  CHECK(row(g, 1) == Row{0, 2, 1});
  CHECK(row(g, 2) == Row{1});
}

TEST_CASE("graphs: a skew-symmetric or a hermitian matrix gives both directions too") {
  TempFile const skew("g.mtx", std::string(kMarket) + "integer skew-symmetric\n3 3 2\n2 1 5\n3 2 1\n");
  TempFile const hermitian("h.mtx", std::string(kMarket) + "complex hermitian\n3 3 2\n2 1 5 1\n3 2 1 0\n");
  for (auto const* file : {&skew, &hermitian}) {
    auto const g = read_graph(file->path());
    CHECK_FALSE(g.directed);
    CHECK(row(g, 0) == Row{1});
    CHECK(row(g, 1) == Row{0, 2});
    CHECK(row(g, 2) == Row{1});
  }
}

TEST_CASE("graphs: vertices of an edge list are ranked by their numbers, near or far apart") {
  for (auto const* far : {"900", "4000000000"}) {
    TempFile const file("g.txt",
                        "# FromNodeId\tToNodeId\n7\t" + std::string(far) + "\n" + far + " 3 0.5\n\n3\t7\n");
    auto const g = read_graph(file.path());
    CHECK(g.vertices == 3);
    CHECK(g.file_edges == 3);
    CHECK(row(g, 0) == Row{1});
    CHECK(row(g, 1) == Row{2});
    CHECK(row(g, 2) == Row{0});
  }
}

TEST_CASE("graphs: an edge list declared as undirected gets both directions") {
  TempFile const file("g.txt", "# Undirected graph: ungraph.txt\n1 2\n2 3\n");
  auto const g = read_graph(file.path());
  CHECK_FALSE(g.directed);
  CHECK(g.file_edges == 2);
  CHECK(row(g, 1) == Row{0, 2});
}

TEST_CASE("graphs: METIS weights are skipped and empty lines are vertices without neighbours") {
  TempFile const file("g.graph", "% note\n4 2 11 2\n5 6 2 10\n5 6 1 10 3 20\n% in between\n1 1 2 20\n7 7");
  auto const g = read_graph(file.path());
  CHECK(g.vertices == 4);
  CHECK_FALSE(g.directed);
  CHECK(row(g, 1) == Row{0, 2});
  CHECK(row(g, 3).empty());
  TempFile const plain("h.graph", "3 1\n2\n1\n\n");
  CHECK(row(read_graph(plain.path()), 2).empty());
}

TEST_CASE("graphs: two columns without a comment are a METIS graph or an edge list by the name's ending") {
  CHECK(read_graph(TempFile("g.txt", "2 1\n2 1\n").path()).format == GraphFormat::snap);
  CHECK(read_graph(TempFile("g.graph", "2 1\n2\n1\n").path()).format == GraphFormat::metis);
  CHECK(read_graph(TempFile("g.txt", "2 1\n2\n1\n").path()).format == GraphFormat::metis);
}

TEST_CASE("graphs: the same text is the same graph plain, as gzip, as two gzip streams and as xz") {
  std::string const head = std::string(kMarket) + "pattern general\n2000 2000 2000\n";
  std::string body;
  for (int i = 1; i <= 2000; ++i) body += std::to_string(i) + " " + std::to_string(2001 - i) + "\n";
  TempFile const plain("g.mtx", head + body);
  auto const expected = read_graph(plain.path());
  for (auto const& bytes : {gzipped(head + body), gzipped(head) + gzipped(body), xz_of(head + body)}) {
    TempFile const file("packed", bytes);
    auto const g = read_graph(file.path());
    CHECK(g.offsets == expected.offsets);
    CHECK(g.targets == expected.targets);
    CHECK(g.file.bytes == bytes.size());
    CHECK(g.file.hash != expected.file.hash);
  }
}

TEST_CASE("graphs: the recorded hash is FNV-1a of the file's bytes") {
  std::string const text = "# c\n1 2\n";
  std::uint64_t hash = 14695981039346656037ULL;
  for (char const c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  CHECK(read_graph(TempFile("g.txt", text).path()).file.hash == hash);
}

TEST_CASE("graphs: an error in a file is reported with its line, the value and the rule") {
  std::string const market = kMarket;
  CHECK(complaint("g.mtx", "") == "g.mtx: the file is empty, but a graph has at least a header");
  CHECK(complaint("g.bin", std::string("\x7f"
                                       "ELF\0\1\2",
                                       7)) ==
        "g.bin: not a graph of a known format (Matrix Market, SNAP edge list or METIS)");
  CHECK(complaint("g.mtx", market + "pattern general\n3 3 2\n1 2\n4 1\n") ==
        "g.mtx:4: row 4 is not in 1 to 3, the size in the header");
  CHECK(complaint("g.mtx", market + "pattern general\n3 3 2\n1 2\n2 0\n") ==
        "g.mtx:4: column 0 is not in 1 to 3, the size in the header");
  CHECK(complaint("g.mtx", market + "pattern general\n3 3 10000000\n1 2\n") ==
        "g.mtx:4: the header specifies 10000000 entries, but the file ends after 1");
  CHECK(complaint("g.mtx", market + "pattern general\n3 3 1\n1 2\n2 1\n") ==
        "g.mtx:4: there are more entries than the 1 in the header");
  CHECK(complaint("g.mtx", market + "pattern general\n4000000000 4000000000 1\n1 2\n") ==
        "g.mtx:2: 4000000000 vertices for 1 edges are more than 16 vertices per edge plus a million");
  GraphOptions few;
  few.limits.edges = 2;
  CHECK(complaint("g.mtx", market + "pattern general\n3 3 3\n", few) ==
        "g.mtx:2: 3 entries are more than limits.edges (now 2); --set limits.edges=N raises it");
  CHECK(complaint("g.mtx", market + "real general\n3 3 1\n1 2\n") ==
        "g.mtx:3: expected a value, a number; found the end of the line");
  CHECK(complaint("g.mtx", market + "pattern general\n3 4 1\n1 2\n") ==
        "g.mtx:2: a matrix of 3 by 4 is not square, as required for a graph");
  CHECK(complaint("g.mtx", "%%MatrixMarket matrix array real general\n3 3\n1\n") ==
        "g.mtx:1: 'matrix array' is not a sparse matrix ('matrix coordinate')");
  CHECK(complaint("g.mtx", market + "pattern general\n3 3 1\n1 x\n") ==
        "g.mtx:3: expected column, a whole number; found 'x'");
  CHECK(complaint("g.mtx", market + "pattern general\n3 3 1\n1 99999999999999999999\n") ==
        "g.mtx:3: column has more than 18 digits");
  CHECK(complaint("g.txt", "# c\n1 2\n1 4294967295\n") ==
        "g.txt:3: the target vertex 4294967295 is more than 4294967294");
  CHECK(complaint("g.txt", "# c\n1 2\n2 3\n3 4\n", few) ==
        "g.txt:4: there are more edges than limits.edges (now 2); --set limits.edges=N raises it");
  CHECK(complaint("g.graph", "3 2\n2\n1 3\n") ==
        "g.graph:4: the header specifies 3 vertices, but the file ends after 2");
  CHECK(complaint("g.graph", "3 2\n2\n1 4\n2\n") ==
        "g.graph:3: neighbour 4 is not in 1 to 3, the vertices in the header");
  CHECK(complaint("g.graph", "3 1\n2\n1 3\n2\n") ==
        "g.graph:3: there are more neighbours than the 1 edges in the header allow");
  CHECK(
      complaint("g.graph", "3 3\n2\n1 3\n2\n") ==
      "g.graph:5: the header specifies 3 edges, but the lists contain 4 neighbours instead of twice as many");
  CHECK(error_of([] { read_graph("/nonexistent/g.mtx"); }) == "/nonexistent/g.mtx: no such file");
}

TEST_CASE("graphs: the unpacked size of a compressed file is limited, the size of a plain one is not") {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "1 2\n";
  GraphOptions options;
  options.limits.unpacked = ByteSize{30'000};
  CHECK(
      complaint("g.gz", gzipped(text), options) ==
      "g.gz: decompresses to more text than limits.unpacked (now 30 kB); --set limits.unpacked=N raises it");
  CHECK(
      complaint("g.xz", xz_of(text), options) ==
      "g.xz: decompresses to more text than limits.unpacked (now 30 kB); --set limits.unpacked=N raises it");
  CHECK(complaint("g.txt", text, options) == "no error");
  options.limits.unpacked = ByteSize{40'000};
  CHECK(complaint("g.gz", gzipped(text), options) == "no error");
  options.limits.edges = 9'999;
  CHECK(complaint("g.gz", gzipped(text), options) ==
        "g.gz:10000: there are more edges than limits.edges (now 9999); --set limits.edges=N raises it");
}

TEST_CASE("graphs: the number of vertices is limited in every format and in the generator") {
  GraphOptions options;
  options.limits.vertices = 3;
  auto const market = std::string(kMarket) + "pattern general\n";
  CHECK(complaint("g.mtx", market + "3 3 1\n1 2\n", options) == "no error");
  CHECK(complaint("g.mtx", market + "4 4 1\n1 2\n", options) ==
        "g.mtx:2: 4 vertices are more than limits.vertices (now 3); --set limits.vertices=N raises it");
  CHECK(complaint("g.graph", "4 2\n2\n1\n4\n3\n", options) ==
        "g.graph:1: 4 vertices are more than limits.vertices (now 3); --set limits.vertices=N raises it");
  CHECK(complaint("g.txt", "# c\n1 2\n3 4\n", options) ==
        "g.txt:4: 4 vertices are more than limits.vertices (now 3); --set limits.vertices=N raises it");
  RmatOptions rmat;
  rmat.scale = 2;
  rmat.limits.vertices = 3;
  CHECK(
      error_of([&] { generate_rmat(rmat); }) ==
      "R-MAT scale 2 gives 4 vertices, more than limits.vertices (now 3); --set limits.vertices=N raises it");
  rmat.limits.vertices = 4;
  rmat.limits.edges = 63;
  CHECK(error_of([&] { generate_rmat(rmat); }) ==
        "R-MAT scale 2 with edge factor 16 gives 64 edges, more than limits.edges (now 63); --set "
        "limits.edges=N raises it");
}

TEST_CASE("graphs: vertex numbers far apart are ranked like consecutive ones") {
  auto const ranked = [](std::string const& factor) {
    TempFile const file("g.txt", "# c\n5" + factor + " 1" + factor + "\n1" + factor + " 3" + factor + "\n");
    return read_graph(file.path()).targets;
  };
  CHECK(ranked("") == ranked("00000000"));
}

TEST_CASE("graphs: truncated and corrupt compressed files give a message") {
  std::string text = std::string(kMarket) + "pattern general\n500 500 500\n";
  for (int i = 1; i <= 500; ++i) text += std::to_string(i) + " " + std::to_string(i * 7919 % 500 + 1) + "\n";
  auto gz = gzipped(text);
  CHECK(complaint("g.mtx.gz", gz.substr(0, gz.size() / 2)) ==
        "g.mtx.gz: the gzip stream ends before its end mark; the file is truncated");
  auto xz = xz_of(text);
  CHECK(complaint("g.mtx.xz", xz.substr(0, xz.size() / 2)) ==
        "g.mtx.xz: the xz stream ends before its end mark; the file is truncated");
  gz[gz.size() / 2] = static_cast<char>(gz[gz.size() / 2] ^ 0x55);
  CHECK(complaint("g.mtx.gz", gz).substr(0, 8) == "g.mtx.gz");
  CHECK(complaint("g.mtx.gz", gz) != "no error");
  xz[xz.size() / 2] = static_cast<char>(xz[xz.size() / 2] ^ 0x55);
  CHECK(complaint("g.mtx.xz", xz) == "g.mtx.xz: the xz stream is corrupt");
}

TEST_CASE("graphs: R-MAT is a function of its options") {
  RmatOptions options;
  options.scale = 10;
  options.edge_factor = 8;
  auto const g = generate_rmat(options);
  CHECK(g.vertices == 1024);
  CHECK(g.targets.size() == 8192);
  CHECK(g.targets == generate_rmat(options).targets);
  options.seed = 2;
  CHECK(g.targets != generate_rmat(options).targets);
}

TEST_CASE("graphs: R-MAT quadrants have the given probabilities") {
  RmatOptions options;
  options.scale = 1;
  options.edge_factor = 50'000;
  options.scramble = false;
  auto const g = generate_rmat(options);
  double count[2][2] = {};
  for (std::uint64_t v = 0; v < 2; ++v)
    for (auto const t : row(g, v)) ++count[v][t];
  CHECK(count[0][0] / 1e5 == doctest::Approx(0.57).epsilon(0.01));
  CHECK(count[0][1] / 1e5 == doctest::Approx(0.19).epsilon(0.03));
  CHECK(count[1][0] / 1e5 == doctest::Approx(0.19).epsilon(0.03));
  CHECK(count[1][1] / 1e5 == doctest::Approx(0.05).epsilon(0.05));
}

TEST_CASE("graphs: scrambling renumbers the vertices of R-MAT and keeps the degrees") {
  RmatOptions options;
  options.scale = 9;
  auto const degrees = [](CsrGraph const& g) {
    std::vector<std::uint64_t> d;
    for (std::uint64_t v = 0; v < g.vertices; ++v) d.push_back(g.offsets[v + 1] - g.offsets[v]);
    return d;
  };
  auto scrambled = degrees(generate_rmat(options));
  options.scramble = false;
  auto straight = degrees(generate_rmat(options));
  CHECK(scrambled != straight);
  std::sort(scrambled.begin(), scrambled.end());
  std::sort(straight.begin(), straight.end());
  CHECK(scrambled == straight);
}

TEST_CASE("graphs: transposing twice returns the graph up to the order within rows") {
  auto g = generate_rmat({8, 4});
  auto t = transposed(transposed(g));
  for (std::uint64_t v = 0; v < g.vertices; ++v) {
    auto a = row(g, v);
    auto b = row(t, v);
    std::sort(a.begin(), a.end());
    CHECK(a == b);
  }
}

}  // namespace farfault::workloads::graph_reader_test
