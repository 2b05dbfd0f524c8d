// SPDX-License-Identifier: Apache-2.0
#include "farfault/engine/files.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "farfault/engine/error.hpp"

namespace files_test {

using namespace farfault;

namespace {

struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("farfault_files_" + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(std::string const& name) const { return (path / name).string(); }
};

void write(std::string const& path, std::string const& text) {
  std::ofstream(path) << text;
}

std::string content(std::string const& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string refusal(std::function<void()> const& action) {
  try {
    action();
    return "done";
  } catch (UserError const& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("an input is a regular file and opens without blocking, or a reason is given") {
  Folder const folder;
  write(folder.file("a"), "text");
  std::filesystem::create_symlink("a", folder.file("link"));
  ::mkfifo((folder.file("fifo")).c_str(), 0600);
  for (auto const* name : {"a", "link"}) {
    auto const input = open_input(folder.file(name));
    REQUIRE(input.file.is_open());
    CHECK(input.why_not == "");
    CHECK(input.bytes == 4);
    CHECK(read_bytes(input.file, 3) == "tex");
    CHECK(read_bytes(input.file, 100) == "t");
    CHECK(read_bytes(input.file, 100) == "");
  }
  std::string const nul = folder.file("a") + std::string("\0b", 2);
  for (auto const& name : {folder.file("fifo"), folder.file("none"), folder.path.string(),
                           std::string("/dev/zero"), std::string("/dev/tty"), nul}) {
    auto const input = open_input(name);
    CHECK_FALSE(input.file.is_open());
    CHECK(input.why_not == why_not_readable(name));
    CHECK(input.why_not != "");
    CHECK(first_bytes(name, 10) == "");
  }
  CHECK(why_not_readable(nul) == "its name contains a NUL character");
  CHECK_FALSE(exists(nul));
  CHECK(refusal([&] { create_locked(nul); }) ==
        "cannot write '" + folder.file("a") + " b': its name contains a NUL character");
  CHECK(content(folder.file("a")) == "text");
  write(folder.file("large"), std::string(300'000, 'x'));
  CHECK(first_bytes(folder.file("large"), 200'000) == std::string(200'000, 'x'));
  CHECK(first_bytes(folder.file("large"), 1 << 20).size() == 300'000);
}

TEST_CASE("only a regular file is readable, and the check never blocks") {
  Folder const folder;
  write(folder.file("a"), "text");
  std::filesystem::create_symlink("a", folder.file("link"));
  std::filesystem::create_symlink("loop", folder.file("loop"));
  ::mkfifo((folder.file("fifo")).c_str(), 0600);
  CHECK(why_not_readable(folder.file("a")) == "");
  CHECK(why_not_readable(folder.file("link")) == "");
  CHECK(why_not_readable(folder.file("none")) == "no such file");
  CHECK(why_not_readable(folder.file("fifo")) ==
        "it is a FIFO, not a regular file; copy its contents to a file first");
  CHECK(why_not_readable(folder.path.string()) == "it is a directory, not a regular file");
  CHECK(why_not_readable("/dev/null") ==
        "it is a device, not a regular file; copy its contents to a file first");
  CHECK(why_not_readable(folder.file("loop")) == "Too many levels of symbolic links");
  CHECK(why_not_readable(folder.file(std::string(300, 'x'))) == "File name too long");
  CHECK(exists(folder.file("loop")));
  CHECK_FALSE(exists(folder.file("none")));
}

TEST_CASE("only a regular file is replaced") {
  Folder const folder;
  write(folder.file("a"), "text");
  std::filesystem::create_symlink("/dev/null", folder.file("device"));
  std::filesystem::create_symlink("loop", folder.file("loop"));
  ::mkfifo((folder.file("fifo")).c_str(), 0600);
  auto const replacing = [](std::string const& path) { return refusal([&] { check_replaceable(path); }); };
  CHECK(replacing(folder.file("a")) == "done");
  CHECK(replacing(folder.file("none")) == "done");
  CHECK(replacing(folder.file("fifo")) ==
        "cannot write '" + folder.file("fifo") + "': it is not a regular file");
  CHECK(replacing(folder.file("device")) ==
        "cannot write '" + folder.file("device") + "': it is not a regular file");
  CHECK(replacing(folder.path.string()) == "cannot write '" + folder.path.string() + "': it is a directory");
  CHECK(replacing(folder.file("loop")) ==
        "cannot write '" + folder.file("loop") + "': Too many levels of symbolic links");
}

TEST_CASE("a file is created for one owner at a time, and a leftover of a killed owner is replaced") {
  Folder const folder;
  auto const path = folder.file("a");
  write(path, "left by a killed run");
  {
    auto const first = create_locked(path);
    CHECK(content(path) == "");
    CHECK(is_locked(path));
    CHECK(refusal([&] { create_locked(path); }) == "cannot write '" + path + "': another run is writing it");
    CHECK(refusal([&] { create_locked(path, "b"); }) == "cannot write 'b': another run is writing it");
    // Not by another process either.
    auto const child = ::fork();
    if (child == 0) ::_exit(refusal([&] { create_locked(path); }) == "done" ? 1 : 0);
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  CHECK_FALSE(is_locked(path));
  CHECK(refusal([&] { create_locked(path); }) == "done");
  CHECK(refusal([&] { create_locked(folder.file("no/a")); }) ==
        "cannot write '" + folder.file("no/a") + "': No such file or directory");
}

TEST_CASE("a file is never created through a link, nor truncated under its other names") {
  Folder const folder;
  write(folder.file("precious"), "text");
  std::filesystem::create_symlink("precious", folder.file("link"));
  std::filesystem::create_symlink("nowhere", folder.file("dangling"));
  ::mkfifo((folder.file("fifo")).c_str(), 0600);
  CHECK(refusal([&] { create_locked(folder.file("link")); }) ==
        "cannot write '" + folder.file("link") + "': it is a symbolic link");
  CHECK(refusal([&] { create_locked(folder.file("dangling")); }) ==
        "cannot write '" + folder.file("dangling") + "': it is a symbolic link");
  CHECK(refusal([&] { create_locked(folder.file("fifo")); }) ==
        "cannot write '" + folder.file("fifo") + "': it is not a regular file");
  CHECK_FALSE(exists(folder.file("nowhere")));
  std::filesystem::create_hard_link(folder.file("precious"), folder.file("other name"));
  CHECK(refusal([&] { create_locked(folder.file("other name")); }) == "done");
  CHECK(content(folder.file("other name")) == "");
  CHECK(content(folder.file("precious")) == "text");
}

TEST_CASE("two names of one file are distinguished from two files, in any spelling") {
  Folder const folder;
  write(folder.file("a"), "same text");
  write(folder.file("b"), "same text");
  std::filesystem::create_symlink("a", folder.file("link"));
  std::filesystem::create_hard_link(folder.file("a"), folder.file("hard"));
  std::filesystem::create_directory(folder.file("sub"));
  std::filesystem::create_symlink("..", folder.file("sub/up"));
  CHECK(same_file(folder.file("a"), folder.file("./sub/../a")));
  CHECK(same_file(folder.file("a"), folder.file("link")));
  CHECK(same_file(folder.file("a"), folder.file("hard")));
  CHECK(same_file(folder.file("a"), folder.file("sub/up/a")));
  CHECK_FALSE(same_file(folder.file("a"), folder.file("b")));
  CHECK_FALSE(same_file(folder.file("a"), folder.file("none")));
  // Missing files.
  CHECK(same_file(folder.file("new"), folder.file("sub/up/./new")));
  CHECK_FALSE(same_file(folder.file("new"), folder.file("newer")));
  CHECK(same_file("new", std::filesystem::current_path().string() + "/new"));
}

}  // namespace files_test
