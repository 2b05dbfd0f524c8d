// SPDX-License-Identifier: Apache-2.0
// Private: the part of a result that precedes its first sample: configuration, inputs, machine, columns.
#pragma once

#include "farfault/results/writer.hpp"
#include "model/model.hpp"
#include "model/sampler.hpp"
#include "tables.hpp"

namespace farfault::cli {

results::RunHeader header_of(Model const& model, RunOptions const& options, Sampler const& sampler,
                             Tables const& tables);

}  // namespace farfault::cli
