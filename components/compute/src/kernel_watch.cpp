// SPDX-License-Identifier: Apache-2.0
#include "farfault/compute/kernel_watch.hpp"

namespace farfault {

KernelWatch::KernelWatch(Host const& host)
    : host_(host),
      of_stream_(host.spec().applications->streams()),
      running_(host.spec().applications->streams(), kNone) {
  auto const& applications = *host.spec().applications;
  for (std::uint32_t a = 0; a < applications.count(); ++a)
    for (auto const& o : applications[a].workload->operations())
      of_stream_[applications.first_stream(a) + o.stream].push_back(o);
  look(Time{});
}

void KernelWatch::look(Time now) {
  auto const& applications = *host_.spec().applications;
  auto const& streams = host_.state().streams;
  for (std::uint32_t i = 0; i < streams.size(); ++i) {
    auto const& run = streams[i];
    bool const runs = run.running != 0 && of_stream_[i][run.next].kind == OperationKind::kernel;
    auto const first = applications.first_kernel(applications.application_of_stream(i));
    KernelSpan const span{.launched = run.began,
                          .finished = Time::max(),
                          .host = host_.id(),
                          .kernel = runs ? first + of_stream_[i][run.next].number : 0,
                          .launch = run.launch,
                          .stream = i};
    auto& at = running_[i];
    bool const same = at != kNone && runs && spans_[at].launched == span.launched &&
                      spans_[at].kernel == span.kernel && spans_[at].launch == span.launch;
    if (same) continue;
    if (at != kNone) spans_[at].finished = now;
    at = kNone;
    if (!runs) continue;
    at = static_cast<std::uint32_t>(spans_.size());
    spans_.push_back(span);
  }
}

}  // namespace farfault
