#include <iostream>
#include <string>
#include <vector>

#include "farfault/cli/command_line.hpp"

int main(int argc, char** argv) {
  return farfault::cli::command_line(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc),
                                     std::cout, std::cerr);
}
