// SPDX-License-Identifier: Apache-2.0
// RAII owner of an HDF5 identifier, and the error check of all HDF5 calls. Needs no header of HDF5, so that
// code which only reads through this folder does not depend on HDF5.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace farfault::results {

using ObjectId = std::int64_t;  // HDF5's hid_t

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
  Handle(ObjectId id, char const* what) : id_(id) {
    if (id < 0) hdf5_failed(what);
  }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Handle() { reset(); }

  void reset() noexcept;
  ObjectId get() const noexcept { return id_; }
  operator ObjectId() const noexcept { return id_; }

 private:
  ObjectId id_ = -1;
};

template <class Status>
Status check(Status status, char const* what) {
  if (status < 0) hdf5_failed(what);
  return status;
}

// Stops HDF5 from printing its error stack to the terminal; Farfault reports one sentence.
void quiet();

}  // namespace farfault::results
