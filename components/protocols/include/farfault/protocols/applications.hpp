// SPDX-License-Identifier: Apache-2.0
// What runs on the GPUs of one host: applications, each a workload in an address space, on some of the GPUs
// and on some SMs of each. Several may run at once on the same GPUs, and on the same SMs.
//
// Kernels are numbered over all applications: those of the first, then those of the second, and so on; one
// that an application runs again keeps its number. A workload knows addresses below 2^48; the number of its
// address space stands in the bits above (kernel.hpp), from the SM on. Streams and operations (operation.hpp)
// are numbered over all applications likewise.
//
// Immutable once built; safe to read from all threads. The workloads must outlive it. More applications,
// spaces or launches than there can be are the caller's mistake and stop the program.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "farfault/engine/error.hpp"
#include "farfault/engine/time.hpp"
#include "farfault/protocols/workload.hpp"

namespace farfault {

struct Application {
  std::string name;
  Workload const* workload = nullptr;
  std::uint32_t space = 0;          // its address space
  std::vector<std::uint32_t> gpus;  // numbers among those of its host, ascending; empty: all
  std::vector<std::uint32_t> sms;   // of each of these GPUs, ascending; empty: all
  Time start{};                     // of its first kernel's launch
  std::uint32_t repeats = 1;        // times that its operations run, one time after the other
  bool relaunch = false;            // and further times, until all applications have run as often as theirs

  std::uint64_t launches() const { return std::uint64_t{repeats} * workload->kernel_count(); }
};

// A kernel with what it needs to know of its application.
struct Launchable {
  Kernel const* kernel = nullptr;
  VirtAddr first_address = 0;  // of its address space
  std::uint8_t space = 0;
  std::uint8_t application = 0;
  std::uint8_t stream = 0;
  std::uint32_t first_kernel = 0;  // of the application
};

class Applications {
 public:
  static constexpr std::uint32_t kMost = 64;
  static constexpr std::uint64_t kMostLaunches = 0xffff'ffff;  // of kernels, by one application

  Applications() = default;
  explicit Applications(std::vector<Application> all) : all_(std::move(all)) {
    FF_CHECK(all_.size() <= kMost, "more applications than there can be");
    for (auto const& a : all_) {
      FF_CHECK(a.space < kAddressSpaces && a.launches() < kMostLaunches,
               "application '" + a.name + "' has an address space or a number of launches beyond the limit");
      auto const number = count_of(first_kernel_);
      first_kernel_.push_back(kernels());
      first_operation_.push_back(operations_);
      first_stream_.push_back(streams());
      for (std::size_t k = 0; k < a.workload->kernel_count(); ++k)
        kernels_.push_back({&a.workload->kernel(k), first_address_of(a.space),
                            static_cast<std::uint8_t>(a.space), static_cast<std::uint8_t>(number), 0,
                            first_kernel_.back()});
      for (auto const& o : a.workload->operations())
        if (o.kind == OperationKind::kernel)
          kernels_[first_kernel_.back() + o.number].stream = static_cast<std::uint8_t>(streams() + o.stream);
      operations_ += count_of(a.workload->operations());
      for (std::uint32_t i = 0; i < a.workload->streams(); ++i) application_of_stream_.push_back(number);
      spaces_ = std::max(spaces_, a.space + 1);
    }
    FF_CHECK(streams() <= kMostStreams, "more streams than there can be");
  }
  // A workload by itself, on everything there is.
  explicit Applications(Workload const& workload)
      : Applications(std::vector<Application>{{workload.name(), &workload, 0, {}, {}, {}, 1}}) {}

  std::uint32_t count() const { return count_of(all_); }
  Application const& operator[](std::uint32_t application) const { return all_[application]; }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

  std::uint32_t kernels() const { return count_of(kernels_); }
  Launchable const& launchable(std::uint32_t kernel) const { return kernels_[kernel]; }
  Kernel const& kernel(std::uint32_t number) const { return *kernels_[number].kernel; }
  std::uint32_t application_of(std::uint32_t kernel) const { return kernels_[kernel].application; }
  std::uint32_t first_kernel(std::uint32_t application) const { return first_kernel_[application]; }

  std::uint32_t operations() const { return operations_; }
  std::uint32_t first_operation(std::uint32_t application) const { return first_operation_[application]; }
  std::uint32_t streams() const { return count_of(application_of_stream_); }
  std::uint32_t first_stream(std::uint32_t application) const { return first_stream_[application]; }
  std::uint32_t application_of_stream(std::uint32_t stream) const { return application_of_stream_[stream]; }
  std::vector<std::uint32_t> const& application_of_stream() const { return application_of_stream_; }
  std::uint32_t stream_of(std::uint32_t kernel) const { return kernels_[kernel].stream; }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (auto const& a : all_) names.push_back(a.name);
    return names;
  }
  // Of one, what runs where: of `gpus` GPUs and `sms` SMs that there are.
  std::vector<std::uint32_t> gpus_of(std::uint32_t application, std::uint32_t gpus) const {
    return all_or(all_[application].gpus, gpus);
  }
  std::vector<std::uint32_t> sms_of(std::uint32_t application, std::uint32_t sms) const {
    return all_or(all_[application].sms, sms);
  }

  // Address spaces are numbered from 0; this is one more than the last.
  std::uint32_t spaces() const { return spaces_; }

 private:
  template <class T>
  static std::uint32_t count_of(std::vector<T> const& list) {
    return static_cast<std::uint32_t>(list.size());
  }
  static std::vector<std::uint32_t> all_or(std::vector<std::uint32_t> some, std::uint32_t there_are) {
    if (some.empty())
      for (std::uint32_t i = 0; i < there_are; ++i) some.push_back(i);
    return some;
  }

  std::vector<Application> all_;
  std::vector<std::uint32_t> first_kernel_;  // by application
  std::vector<std::uint32_t> first_operation_;
  std::vector<std::uint32_t> first_stream_;
  std::vector<std::uint32_t> application_of_stream_;
  std::uint32_t operations_ = 0;
  std::vector<Launchable> kernels_;
  std::uint32_t spaces_ = 1;
};

}  // namespace farfault
