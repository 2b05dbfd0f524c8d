// SPDX-License-Identifier: Apache-2.0
#include "message_mocks.hpp"

namespace farfault {
FF_MOCKS()
}  // namespace farfault
