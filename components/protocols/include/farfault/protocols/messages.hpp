// SPDX-License-Identifier: Apache-2.0
// Messages between components, by protocol: trivially copyable, at most 40 bytes.
//
// - messages/memory.hpp, translation.hpp, paging.hpp, kernels.hpp: the protocols.
// - messages/packet.hpp, wire.hpp: messages that cross the fabric, and their sizes on a link.
// - messages/addresses.hpp, requests.hpp: devices, addresses, pages, requesters.
#pragma once

#include "farfault/engine/event.hpp"
#include "farfault/protocols/messages/kernels.hpp"
#include "farfault/protocols/messages/memory.hpp"
#include "farfault/protocols/messages/packet.hpp"
#include "farfault/protocols/messages/paging.hpp"
#include "farfault/protocols/messages/translation.hpp"

namespace farfault {

struct Tick {};

static_assert(Message<Tick>);

}  // namespace farfault
