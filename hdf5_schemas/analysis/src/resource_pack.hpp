// SPDX-License-Identifier: Apache-2.0
// Private: resources in the answer of the reading process.
#pragma once

#include "farfault/analysis/explain.hpp"
#include "farfault/results/reading/pack.hpp"
#include "result_file.hpp"

namespace farfault::analysis {

void put_resource(Pack& pack, Resource const& r);  // preceded by 1, as an element of a list that ends with 0
Resource take_resource(Pack& pack);                // after the 1

}  // namespace farfault::analysis
