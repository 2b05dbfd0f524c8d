// SPDX-License-Identifier: Apache-2.0
// Private: settings of a study without effect, counted over its runs.
//
// - A key that varies must have an effect in at least one of the runs that set it: refuse().
// - warnings(): a key that varies and has no effect in some of these runs, or a common setting (of [config]
//   or --set) without effect in all runs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "farfault/engine/config.hpp"

namespace farfault::cli {

class UnusedKeys {
 public:
  // A run sets these keys. `config`: its configuration; null: unknown, so all of them count as used.
  void note(std::vector<std::string> const& varied, std::vector<std::string> const& common,
            Config const* config);

  // Throws ConfigErrors, one line per key.
  void refuse() const;
  std::vector<std::string> warnings() const;

 private:
  struct Key {
    std::string name;
    bool varies;
    std::uint64_t runs = 0;    // that set it
    std::uint64_t unused = 0;  // of these
    Config::Unused first = {};
  };
  void note(std::string const& name, bool varies, Config const* config);

  std::vector<Key> keys_;  // in the order of the first run that sets each
  std::map<std::string, std::size_t> numbers_;
};

}  // namespace farfault::cli
