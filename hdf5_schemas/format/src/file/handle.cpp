// SPDX-License-Identifier: Apache-2.0
#include "farfault/results/reading/handle.hpp"

#include <hdf5.h>

#include <type_traits>

#include "farfault/engine/error.hpp"

namespace farfault::results {
namespace {

static_assert(std::is_same_v<ObjectId, hid_t>);

extern "C" herr_t keep_first(unsigned number, H5E_error2_t const* error, void* into) {
  if (number == 0 && error->desc != nullptr) *static_cast<std::string*>(into) = error->desc;
  return 0;
}

}  // namespace

void hdf5_failed(char const* what) {
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &reason);
  throw Hdf5Failure(reason.empty() ? std::string(what) : what + (" (" + one_line(reason) + ")"));
}

void Handle::reset() noexcept {
  if (id_ >= 0) H5Idec_ref(id_);
  id_ = -1;
}

void quiet() {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

}  // namespace farfault::results
