// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "edit.hpp"
#include "farfault/results/digest.hpp"
#include "farfault/results/reader.hpp"
#include "sample.hpp"
#include "scratch.hpp"

namespace several_names_test {

using namespace farfault;
using namespace farfault::results;

namespace {

// Groups in `levels` levels; each contains the next one under `names` names: names^levels paths.
void add_ladder(std::string const& path, int levels, int names) {
  edit::File const file(path);
  auto above = H5Gcreate2(file, "ladder", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  for (int level = 0; level < levels; ++level) {
    auto const below = H5Gcreate_anon(file, H5P_DEFAULT, H5P_DEFAULT);
    for (int i = 0; i < names; ++i)
      H5Olink(below, above, std::to_string(i).c_str(), H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(above);
    above = below;
  }
  H5Gclose(above);
}

template <class Read>
std::string refusal(Read read) {
  try {
    read();
  } catch (UserError const& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a result with several names for one object is rejected before its paths are followed") {
  Scratch const dir;
  auto const path = dir / "a.h5";
  sample::write(path);
  sample::write(dir / "b.h5");
  add_ladder(path, 12, 5);
  auto const why = " is damaged or not a Farfault result: an object has several names";
  CHECK(refusal([&] { validate(path); }) == "'" + path + "'" + why);
  CHECK(refusal([&] { result_digest(path); }) == "'" + path + "'" + why);
  CHECK(refusal([&] { diff(path, dir / "b.h5"); }) == "'" + path + "' or '" + (dir / "b.h5") + "'" + why);
}

}  // namespace several_names_test
