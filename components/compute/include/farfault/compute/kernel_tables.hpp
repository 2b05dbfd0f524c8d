// SPDX-License-Identifier: Apache-2.0
// Columns that tables of kernels share: the owner of a kernel, and the statistics of SMs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "farfault/compute/sm_stats.hpp"
#include "farfault/engine/probes.hpp"
#include "farfault/engine/table_rows.hpp"
#include "farfault/engine/time.hpp"
#include "farfault/protocols/applications.hpp"

namespace farfault {

// True if rows of kernels name their application and launch: several applications, or kernels that repeat.
bool rows_name_applications(Applications const& applications);
// True if rows name the stream: an application has several.
bool rows_name_streams(Applications const& applications);

// stream, application and launch, as far as rows name them.
void add_owner_columns(TableInfo& table, Applications const& applications);
void add_owner_cells(std::vector<Cell>& cells, Applications const& applications, std::uint32_t kernel,
                     std::uint32_t launch);

// A column per counter of SmStats that exists, except `without`. fetches: SMs fetch instructions.
void add_sm_columns(TableInfo& table, bool fetches, std::string_view without = {});
void add_sm_cells(std::vector<Cell>& cells, SmStats const& counts, bool fetches,
                  std::string_view without = {});

// A kernel that has ended on one GPU of several.
struct KernelOnGpu {
  std::uint32_t kernel = 0;
  std::uint32_t launch = 0;
  Time left{};
  SmStats counts{};  // of the SMs of this GPU
};

// The table of kernels by GPU: a row per kernel and GPU. Over the GPUs, the columns of SMs add up to those of
// the table of kernels.
TableInfo kernels_by_gpu_table(Applications const& applications, bool fetches);
std::vector<Cell> cells_of(KernelOnGpu const& record, std::string const& gpu,
                           Applications const& applications, bool fetches);

}  // namespace farfault
