// SPDX-License-Identifier: Apache-2.0
#include "farfault/program.hpp"

int main(int argc, char** argv) {
  return farfault::program(argc, argv);
}
