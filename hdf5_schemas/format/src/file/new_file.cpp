// SPDX-License-Identifier: Apache-2.0
#include "new_file.hpp"

#include <hdf5.h>

namespace farfault::results {

Handle create_file(CommitFile& file, std::string const& path) {
  Handle const create(H5Pcreate(H5P_FILE_CREATE), "cannot set file properties");
  // HDF5 must not reuse freed space; CommitFile does, when it is safe.
  check(H5Pset_file_space_strategy(create, H5F_FSPACE_STRATEGY_NONE, false, 1), "cannot set file properties");
  check(H5Pset_obj_track_times(create, false), "cannot set file properties");
  // Tracking the creation order makes the root group a compact group in the format of HDF5 1.8.
  check(H5Pset_link_creation_order(create, H5P_CRT_ORDER_TRACKED), "cannot set file properties");
  auto const access = file.access_list();
  check(H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_V110), "cannot set the file format");
  Handle hdf5(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, create, access), "cannot create the file");
  check(H5Fset_libver_bounds(hdf5, H5F_LIBVER_V110, H5F_LIBVER_V110), "cannot set the file format");
  return hdf5;
}

void close_file(Handle& hdf5) {
  auto const id = hdf5.get();
  check(H5Iinc_ref(id), "HDF5 cannot close it");
  hdf5.reset();
  check(H5Fclose(id), "HDF5 cannot close it");
}

}  // namespace farfault::results
