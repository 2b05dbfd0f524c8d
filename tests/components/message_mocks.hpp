// SPDX-License-Identifier: Apache-2.0
// The usual mocks of the protocols' messages, compiled once, in message_mocks.cpp: compiling them takes up to
// a third of the time of a test file. Part of the precompiled header of test_components.
#pragma once

#include "farfault/protocols/messages.hpp"
#include "mock.hpp"

// FF_MOCKS(extern) declares them; FF_MOCKS() compiles them.
#define FF_ENDPOINTS(WHEN, M)                                        \
  WHEN template class Component<mock::SourceSpec<M>, mock::Nothing>; \
  WHEN template class mock::Source<M>;                               \
  WHEN template class Component<mock::Nothing, mock::SinkState<M>>;  \
  WHEN template class mock::Sink<M>;
#define FF_RESPONDER(WHEN, REQUEST, RESPONSE)                                                      \
  WHEN template class Component<mock::ResponderSpec<REQUEST, RESPONSE>, mock::SinkState<REQUEST>>; \
  WHEN template class mock::Responder<REQUEST, RESPONSE>;
#define FF_CLIENT(WHEN, REQUEST, RESPONSE)                                               \
  WHEN template class Component<mock::ClientSpec<REQUEST, RESPONSE>, mock::ClientState>; \
  WHEN template class mock::Client<REQUEST, RESPONSE>;
#define FF_MOCKS(WHEN)                                    \
  FF_ENDPOINTS(WHEN, BlockDone)                           \
  FF_ENDPOINTS(WHEN, CopyDone)                            \
  FF_ENDPOINTS(WHEN, CopyOrder)                           \
  FF_ENDPOINTS(WHEN, Credit)                              \
  FF_ENDPOINTS(WHEN, Flush)                               \
  FF_ENDPOINTS(WHEN, Flushed)                             \
  FF_ENDPOINTS(WHEN, Invalidate)                          \
  FF_ENDPOINTS(WHEN, Invalidated)                         \
  FF_ENDPOINTS(WHEN, KernelCounts)                        \
  FF_ENDPOINTS(WHEN, MemRequest)                          \
  FF_ENDPOINTS(WHEN, MemResponse)                         \
  FF_ENDPOINTS(WHEN, MemoryOrder)                         \
  FF_ENDPOINTS(WHEN, MemoryOrderDone)                     \
  FF_ENDPOINTS(WHEN, Packet)                              \
  FF_ENDPOINTS(WHEN, PageMapped)                          \
  FF_ENDPOINTS(WHEN, PageMove)                            \
  FF_ENDPOINTS(WHEN, PageUse)                             \
  FF_ENDPOINTS(WHEN, StartBlock)                          \
  FF_ENDPOINTS(WHEN, StepDone)                            \
  FF_ENDPOINTS(WHEN, TranslateRequest)                    \
  FF_ENDPOINTS(WHEN, TranslateResponse)                   \
  FF_RESPONDER(WHEN, Invalidate, Invalidated)             \
  FF_RESPONDER(WHEN, MemRequest, MemResponse)             \
  FF_RESPONDER(WHEN, ReadOnlyRequest, ReadOnlyResponse)   \
  FF_RESPONDER(WHEN, TranslateRequest, TranslateResponse) \
  FF_RESPONDER(WHEN, TranslateRequest, Packet)            \
  FF_CLIENT(WHEN, MemRequest, MemResponse)                \
  FF_CLIENT(WHEN, TranslateRequest, TranslateResponse)

namespace farfault {
FF_MOCKS(extern)
}  // namespace farfault
