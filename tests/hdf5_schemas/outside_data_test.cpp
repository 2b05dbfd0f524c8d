// SPDX-License-Identifier: Apache-2.0
#include "outside_data.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "edit.hpp"
#include "farfault/analysis/compare.hpp"
#include "farfault/analysis/explain.hpp"
#include "farfault/analysis/live.hpp"
#include "farfault/analysis/report.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/results/digest.hpp"
#include "farfault/results/reader.hpp"
#include "farfault/results/reading/guard.hpp"
#include "farfault/results/reading/open.hpp"
#include "farfault/results/sweep.hpp"
#include "sample.hpp"
#include "scratch.hpp"

namespace outside_data_test {

using namespace farfault;
using namespace farfault::analysis;
using namespace farfault::results;

namespace {

// The output of a reader: its result, or its refusal.
std::string printed(std::function<std::string()> const& read) {
  try {
    return read();
  } catch (UserError const& refusal) {
    return std::string("refused: ") + refusal.what();
  }
}

std::string text_of(Comparison const& comparison) {
  std::string text = comparison.difference ? comparison.difference->text : "";
  for (auto const& setting : comparison.settings) text += " " + setting.a + " " + setting.b;
  return text;
}

std::string text_of(SweptRun const& run) {
  std::string text = run.config + " " + run.commit + " " + run.build + " " + run.end_reason;
  for (auto const& input : run.inputs) text += " " + input.path + " " + input.hash;
  for (auto const& figure : run.figures) text += " " + figure.name + " " + std::to_string(figure.value);
  return text;
}

std::string joined(std::vector<std::string> const& words) {
  std::string text;
  for (auto const& word : words) text += word + "\n";
  return text;
}

std::string joined(std::vector<std::uint64_t> const& numbers) {
  std::string text;
  for (auto const number : numbers) text += std::to_string(number) + "\n";
  return text;
}

std::vector<std::string> all_readers(std::string const& path, std::string const& sound) {
  auto const live = [&] {
    std::string text;
    for (auto const& point : read_live(path, {{"l2_tlb", "hits"}, {"driver", "batches"}}, 0, 4).points)
      text += std::to_string(point.time_ps) + " " + joined(point.totals);
    return text;
  };
  return std::vector<std::string>{printed([&] { return to_json(read_summary(path)); }),
                                  printed([&] { return joined(validate(path)); }),
                                  printed([&] { return result_digest(path); }),
                                  printed([&] { return report_data(path, {.points = 20}); }),
                                  printed([&] { return to_json(explain(path)); }),
                                  printed([&] {
                                    return to_json(compare({sound, path}));
                                  }),
                                  printed([&] { return text_of(diff(path, sound)); }),
                                  printed([&] { return text_of(diff(sound, path)); }),
                                  printed([&] { return joined(renamed_inputs(path, sound)); }),
                                  printed([&] { return joined(read_engine(path, "partition_load")); }),
                                  printed([&] { return text_of(read_swept_run(path)); }),
                                  printed(live)};
}

void copy_file(std::string const& from, std::string const& to) {
  std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
}

// Calls `visit(path, way)` for a copy of the sound result with one object replaced: every step-th object, in
// each way.
void for_each_replacement(Scratch const& dir, outside::Targets const& to,
                          std::vector<outside::Way> const& ways, std::size_t step,
                          std::function<void(std::string const&, outside::Way)> const& visit) {
  auto const sound = dir / "sound.h5", changed = dir / "changed.h5";
  std::vector<std::string> paths;
  {
    edit::File const file(sound);
    paths = outside::objects(file);
  }
  for (auto const way : ways) {
    for (std::size_t i = 0; i < paths.size(); i += step) {
      auto const& path = paths[i];
      copy_file(sound, changed);
      bool replaced = false;
      {
        edit::File const file(changed);
        replaced = outside::replace(file, path, way, to);
      }
      if (replaced) visit(path, way);
    }
  }
}

}  // namespace

TEST_CASE("no reader outputs the content of another file, whichever object of a result refers to it") {
  Scratch const dir;
  quiet();
  sample::write(dir / "sound.h5");
  copy_file(dir / "sound.h5", dir / "secret.h5");
  {
    edit::File const file(dir / "secret.h5");
    outside::fill_all_with_marker(file);
  }
  outside::write_secret(dir / "secret");
  using enum outside::Way;
  int changed = 0;
  auto const visit = [&](std::string const& path, outside::Way way) {
    ++changed;
    for (auto const& text : all_readers(dir / "changed.h5", dir / "sound.h5")) {
      CAPTURE(path);
      CAPTURE(static_cast<int>(way));
      CAPTURE(text);
      CHECK_FALSE(outside::has_marker(text));
    }
    // A digest visits every dataset, so it must refuse each dataset with data elsewhere.
    if (way != external_link && way != soft_then_external && !path.starts_with("/engine") &&
        !path.starts_with("/config/unused") && path != "/config/command_line" &&
        path != "/config/inputs/path")
      CHECK(printed([&] { return result_digest(dir / "changed.h5"); }).starts_with("refused: "));
  };
  outside::Targets const targets{dir / "secret", dir / "secret.h5"};
  for_each_replacement(dir, targets, {external_storage, external_link}, 2, visit);
  for_each_replacement(dir, targets, {soft_then_external, virtual_layout, other_filter}, 5, visit);
  CHECK(changed > 60);
}

TEST_CASE("a result that refers to a FIFO is read completely or rejected, and the FIFO is never opened") {
  Scratch const dir;
  quiet();
  sample::write(dir / "sound.h5");
  auto const fifo = dir / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  using enum outside::Way;
  for_each_replacement(dir, {fifo, fifo}, {external_storage, external_link, virtual_layout}, 7,
                       [&](std::string const& path, outside::Way way) {
                         CAPTURE(path);
                         CAPTURE(static_cast<int>(way));
                         for (auto const& text : all_readers(dir / "changed.h5", dir / "sound.h5"))
                           CHECK(text.find("takes more time") == std::string::npos);
                         // Opening for writing succeeds only if a reader has the FIFO open.
                         CHECK(::open(fifo.c_str(), O_WRONLY | O_NONBLOCK) == -1);
                       });
}

TEST_CASE("rejections of external data name the object and the reason") {
  Scratch const dir;
  quiet();
  sample::write(dir / "sound.h5");
  auto const path = dir / "changed.h5";
  auto const refusal = [&](outside::Way way) {
    copy_file(dir / "sound.h5", path);
    {
      edit::File const file(path);
      REQUIRE(outside::replace(file, "/tables/kernels/name", way, {"/etc/hostname", "other.h5"}));
    }
    return printed([&] { return result_digest(path); });
  };
  auto const begin = "refused: '" + path + "' is damaged or not a Farfault result: /tables/kernels/name ";
  CHECK(refusal(outside::Way::external_storage) ==
        begin + "has external storage; a result must contain all of its data");
  CHECK(refusal(outside::Way::virtual_layout) ==
        begin + "is a virtual dataset; a result must contain all of its data");
  CHECK(refusal(outside::Way::other_filter) ==
        begin + "is stored with filter 3; results use only shuffle and deflate");
}

TEST_CASE("a dataset that is compressed twice is rejected") {
  Scratch const dir;
  sample::write(dir / "sound.h5");
  {
    edit::File const file(dir / "sound.h5");
    auto const old = H5Dopen2(file, "/tables/kernels/name", H5P_DEFAULT);
    auto const space = H5Dget_space(old), type = H5Dget_type(old), list = H5Dget_create_plist(old);
    hsize_t const rows = 1;
    H5Pset_chunk(list, 1, &rows);
    H5Pset_deflate(list, 9);
    H5Pset_deflate(list, 9);
    H5Ldelete(file, "/tables/kernels/name", H5P_DEFAULT);
    auto const made = H5Dcreate2(file, "/tables/kernels/name", type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    REQUIRE(made >= 0);
    H5Dclose(made);
    H5Pclose(list);
    H5Tclose(type);
    H5Sclose(space);
    H5Dclose(old);
  }
  auto const answer = printed([&] { return result_digest(dir / "sound.h5"); });
  CAPTURE(answer);
  CHECK(answer.ends_with("/tables/kernels/name is stored with the same filter twice"));
}

// HDF5 unpacks whole chunks.
TEST_CASE("a dataset in chunks of more than 64 MiB is rejected") {
  Scratch const dir;
  sample::write(dir / "sound.h5");
  {
    edit::File const file(dir / "sound.h5");
    REQUIRE(H5Ldelete(file, "/tables/kernels/name", H5P_DEFAULT) >= 0);
    hsize_t const rows = 1, most = H5S_UNLIMITED, chunk = (std::uint64_t{64} << 20) / 8 + 1;
    auto const space = H5Screate_simple(1, &rows, &most), list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(list, 1, &chunk);
    auto const made =
        H5Dcreate2(file, "/tables/kernels/name", H5T_NATIVE_UINT64, space, H5P_DEFAULT, list, H5P_DEFAULT);
    REQUIRE(made >= 0);
    H5Dclose(made);
    H5Pclose(list);
    H5Sclose(space);
  }
  CHECK(printed([&] {
          return result_digest(dir / "sound.h5");
        }).ends_with("/tables/kernels/name has chunks larger than 64 MiB"));
}

// HDF5 cannot create a name that is a path, so the test changes bytes of a file whose groups have no
// checksum.
TEST_CASE("a group member whose name is a path is rejected") {
  Scratch const dir;
  auto const path = dir / "names.h5";
  auto const made = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  H5Gclose(H5Gcreate2(made, "ker!nels", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Fclose(made);
  std::fstream bytes(path, std::ios::binary | std::ios::in | std::ios::out);
  std::string const text{std::istreambuf_iterator<char>(bytes), {}};
  auto const at = text.find("ker!nels");
  REQUIRE(at != text.npos);
  bytes.seekp(static_cast<std::streamoff>(at) + 3);
  bytes.put('/');
  bytes.close();
  CHECK(printed([&] {
          return read_guarded(path, [](hid_t file) { return joined(link_names(file)); });
        }).ends_with("a group has a member 'ker/nels', which is not a valid name"));
}

TEST_CASE("a child process that reads a result can open no other file, whatever HDF5 tries") {
  Scratch const dir;
  sample::write(dir / "a.h5");
  sample::write(dir / "b.h5");
  auto const answer = read_guarded(dir / "a.h5", [&](hid_t) {
    auto const by_name = ::open((dir / "b.h5").c_str(), O_RDONLY);
    auto const by_hdf5 = H5Fopen((dir / "b.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    auto const by_reader = open_to_read(dir / "b.h5", "not opened").get();
    return std::to_string(by_name) + (by_hdf5 < 0 ? " closed" : " open") +
           (by_reader < 0 ? " closed" : " open");
  });
  CHECK(answer == "-1 closed open");
}

TEST_CASE("a reader that never ends is stopped after its timeout, and the file is reported as damaged") {
  Scratch const dir;
  sample::write(dir / "a.h5");
  auto const endless = [](hid_t) -> std::string {
    for (;;) ::pause();
  };
  CHECK(printed([&] { return read_guarded(dir / "a.h5", endless, {}, std::chrono::milliseconds(20)); }) ==
        "refused: '" + (dir / "a.h5") +
            "' is damaged or not a Farfault result: reading it exceeds the time or "
            "memory limit for a file of its size");
}

TEST_CASE("a file of a result that is a FIFO is rejected without blocking") {
  Scratch const dir;
  auto const fifo = dir / "fifo.h5";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  for (auto const& text : all_readers(fifo, fifo))
    CHECK(text == "refused: cannot read '" + fifo +
                      "': it is a FIFO, not a regular file; copy its contents to a file first");
}

}  // namespace outside_data_test
