// SPDX-License-Identifier: Apache-2.0
// An HDF5 identifier that is released with its owner, and the check that every call goes through.
#pragma once

#include <hdf5.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace farfault::results {

// HDF5 refused something; the callers of this folder turn it into a UserError or RunError that names the
// file.
class Hdf5Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A sound result, but of a schema that this program does not read.
class OtherSchema : public Hdf5Failure {
 public:
  using Hdf5Failure::Hdf5Failure;
};

// Throws Hdf5Failure: `what`, and in brackets the innermost reason that HDF5 gives for its last failure.
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

// HDF5 prints its error stack to the terminal unless told not to; ours is one sentence.
inline void quiet() {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

}  // namespace farfault::results
