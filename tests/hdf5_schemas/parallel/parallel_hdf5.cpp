// SPDX-License-Identifier: Apache-2.0
// Compiled with all of hdf5_schemas and some of its tests against an HDF5 that is built with MPI.
#include <doctest/doctest.h>
#include <hdf5.h>

#include <cstring>
#include <string>

#include "../sample.hpp"
#include "../sample_digest.hpp"
#include "../scratch.hpp"
#include "farfault/results/reader.hpp"

using namespace farfault::results;

TEST_CASE("this HDF5 is built with MPI") {
#ifdef H5_HAVE_PARALLEL
  CHECK(std::strlen(H5_VERS_INFO) > 0);
#else
  FAIL("this HDF5 is built without MPI");
#endif
}

TEST_CASE("an HDF5 that is built with MPI writes the result that the serial one writes") {
  Scratch const dir;
  CHECK(sample::write(dir / "a.h5") == sample::kDigest);
  CHECK(validate(dir / "a.h5").empty());
}
