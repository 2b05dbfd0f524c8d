// SPDX-License-Identifier: Apache-2.0
// The `farfault` program with extensions: the complete main().
//
//   int main(int argc, char** argv) {
//     return farfault::program(argc, argv, farfault::policies().add<ByRegion>("by_region", "..."));
//   }
//
// It has every command, option and exit code of `farfault` (cli/command_line.hpp), with or without MPI. An
// invalid extension causes one sentence on standard error and exit code 2. Call it once, before any thread is
// started.
#pragma once

#include "farfault/cli/extensions.hpp"

namespace farfault {

int program(int argc, char** argv, Extensions const& extensions = {});

}  // namespace farfault
