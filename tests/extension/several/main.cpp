// SPDX-License-Identifier: Apache-2.0
// A program with several extensions, one file each.
#include <farfault/program.hpp>

void capped_row_hits(farfault::Extensions& all);
void large_frames(farfault::Extensions& all);
void gather(farfault::Extensions& all);
void rings(farfault::Extensions& all);
void split_tlb(farfault::Extensions& all);

int main(int argc, char** argv) {
  farfault::Extensions all;
  for (auto* const add : {capped_row_hits, large_frames, gather, rings, split_tlb}) add(all);
  return farfault::program(argc, argv, all);
}
