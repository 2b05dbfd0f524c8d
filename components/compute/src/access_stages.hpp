// SPDX-License-Identifier: Apache-2.0
// Private: attribution of a transaction's time to stages (sm_stats.hpp), when a translation, a line or an
// acknowledgement arrives; for one transaction that has waited for it, and for many together.
#pragma once

#include "farfault/compute/sm_stats.hpp"
#include "farfault/compute/warp_contexts.hpp"
#include "farfault/protocols/messages.hpp"
#include "shared_wait.hpp"

namespace farfault {

void count_translation(TranslateResponse const& m, Duration waited, AccessStages& stages);
void count_translations(TranslateResponse const& m, SharedWait const& all, AccessStages& stages);
// `remote`: the line is in another device's memory.
void count_load(MemResponse const& m, bool remote, Duration waited, AccessStages& stages);
void count_loads(MemResponse const& m, bool remote, SharedWait const& all, AccessStages& stages);
void count_stores(MemResponse const& m, bool remote, Warp& w, SmStats& stats,
                  OutstandingAccesses& outstanding, Time now);

}  // namespace farfault
