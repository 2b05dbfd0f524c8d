// SPDX-License-Identifier: Apache-2.0
// Changes of an HDF5 file in memory, encoded as a list of bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "../hdf5_schemas/outside_data.hpp"
#include "harness.hpp"

namespace farfault::fuzz {

// A folder with a valid file of Farfault, and two files whose content no reader may output: one with bytes,
// and a copy of the valid file with other values. Changes refer to them by links, external storage and views.
class Secrets {
 public:
  explicit Secrets(std::function<void(std::string const&)> const& write_sound);

  std::string const& sound() const { return sound_; }
  // A copy of the valid file, unchanged or with changes (change_file).
  std::string fresh_copy() const;
  results::outside::Targets const& targets() const { return targets_; }
  // Ends the process if `text`, or a new file in the folder, contains it.
  void expect_kept(std::string_view text) const;

 private:
  MemoryFolder folder_;
  std::string sound_;
  std::vector<std::uint8_t> image_;
  results::outside::Targets targets_;
};

// Runs `read`, which returns all of its output; an error message counts as output. False if it rejects the
// file.
template <class Read>
bool reads(Secrets const& secrets, Read&& read) {
  try {
    secrets.expect_kept(read());
    return true;
  } catch (UserError const& refusal) {
    expect_sentence(refusal.what());
    secrets.expect_kept(refusal.what());
    return false;
  }
}

// Makes the first 32 changes encoded in `changes`, eight bytes each, in the file; changes rejected by HDF5
// are skipped. False without any change.
bool change_file(std::string const& path, Bytes changes, results::outside::Targets const& targets);

}  // namespace farfault::fuzz
