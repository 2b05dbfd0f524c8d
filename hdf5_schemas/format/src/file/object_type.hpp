// SPDX-License-Identifier: Apache-2.0
// The type of an HDF5 object.
#pragma once

#include <hdf5.h>

namespace farfault::results {

H5O_type_t type_of(hid_t object);

}  // namespace farfault::results
