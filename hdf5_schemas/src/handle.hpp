// SPDX-License-Identifier: Apache-2.0
// RAII owner of an HDF5 identifier, and the error check of all HDF5 calls.
#pragma once

#include <hdf5.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace farfault::results {

// An HDF5 call failed. The callers in this folder convert it into a UserError or RunError that names the
// file.
class Hdf5Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A sound result with an unsupported schema version.
class OtherSchema : public Hdf5Failure {
 public:
  using Hdf5Failure::Hdf5Failure;
};

// Throws Hdf5Failure: `what`, and in brackets the innermost reason of HDF5's last failure.
[[noreturn]] void hdf5_failed(char const* what);

class Handle {
 public:
  Handle() = default;
  Handle(hid_t id, char const* what) : id_(id) {
    if (id < 0) hdf5_failed(what);
  }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Handle() { reset(); }

  void reset() noexcept {
    if (id_ >= 0) H5Idec_ref(id_);
    id_ = -1;
  }
  hid_t get() const noexcept { return id_; }
  operator hid_t() const noexcept { return id_; }

 private:
  hid_t id_ = -1;
};

template <class Status>
Status check(Status status, char const* what) {
  if (status < 0) hdf5_failed(what);
  return status;
}

// Stops HDF5 from printing its error stack to the terminal; Farfault reports one sentence.
inline void quiet() {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

}  // namespace farfault::results
