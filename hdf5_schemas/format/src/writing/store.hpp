// SPDX-License-Identifier: Apache-2.0
// Writes the fixed-size parts of a result: configuration, topology, summary, self-profile.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "farfault/results/reading/handle.hpp"
#include "farfault/results/schema.hpp"
#include "reading/digest_of.hpp"

namespace farfault::results {

void write_header(ObjectId file, RunHeader const& header);
KnownDatasets write_summary(ObjectId file, std::vector<SummaryRow> const& rows);
void write_engine(ObjectId file, std::vector<EngineValue> const& values);

// True if `name` is valid for a dataset or group.
bool is_object_name(std::string_view name);

}  // namespace farfault::results
