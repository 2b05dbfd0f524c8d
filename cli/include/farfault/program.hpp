// SPDX-License-Identifier: Apache-2.0
// The `farfault` program with extensions of one's own: all of main().
//
//   int main(int argc, char** argv) {
//     return farfault::program(argc, argv, farfault::policies().add<ByRegion>("by_region", "..."));
//   }
//
// It is the whole program: every command, option and exit code of `farfault` (cli/command_line.hpp), under
// MPI as well. An extension that cannot be is one sentence on standard error and exit code 2. To be called
// once, before any thread is started.
#pragma once

#include "farfault/cli/extensions.hpp"

namespace farfault {

int program(int argc, char** argv, Extensions const& extensions = {});

}  // namespace farfault
