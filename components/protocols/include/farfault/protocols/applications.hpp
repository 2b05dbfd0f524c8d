// SPDX-License-Identifier: Apache-2.0
// Applications of one host: each runs one workload in one address space, on some or all of the GPUs and on
// some or all SMs of each GPU. Several applications may share GPUs and SMs.
//
// - Kernels, streams and operations (operation.hpp) are numbered over all applications, in application order.
//   A kernel that an application runs again keeps its number.
// - Workloads use addresses below 2^48. From the SM on, the bits above hold the address space (kernel.hpp).
// - Immutable once built; safe to read from all threads. The workloads must outlive it.
// - Too many applications, address spaces, launches or streams are the caller's error and stop the program.
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
  std::uint32_t space = 0;            // address space
  std::vector<std::uint32_t> gpus{};  // GPU numbers within the host, ascending; empty: all
  std::vector<std::uint32_t> sms{};   // SM numbers, the same for each of these GPUs, ascending; empty: all
  Time start{};                       // launch of its first kernel
  std::uint32_t repeats = 1;          // number of times that its operations run, back to back
  bool relaunch = false;              // repeat further, until every application has completed its own repeats

  std::uint64_t launches() const { return std::uint64_t{repeats} * workload->kernel_count(); }
};

// A kernel and the properties of its application that a launch needs.
struct Launchable {
  Kernel const* kernel = nullptr;
  VirtAddr first_address = 0;  // base of the address space
  std::uint8_t space = 0;
  std::uint8_t application = 0;
  std::uint8_t stream = 0;
  std::uint32_t first_kernel = 0;  // first kernel of the application
};

class Applications {
 public:
  static constexpr std::uint32_t kMax = 64;
  static constexpr std::uint64_t kMaxLaunches = 0xffff'ffff;  // kernel launches of one application

  Applications() = default;
  explicit Applications(std::vector<Application> all) : all_(std::move(all)) {
    FF_CHECK(all_.size() <= kMax, "too many applications");
    for (auto const& a : all_) {
      FF_CHECK(a.space < kAddressSpaces && a.launches() < kMaxLaunches,
               "application '" + a.name + "' has an address space or a number of launches beyond the limit");
      auto const number = count_of(first_kernel_);
      first_kernel_.push_back(kernels());
      first_operation_.push_back(operations_);
      first_stream_.push_back(streams());
      for (std::size_t k = 0; k < a.workload->kernel_count(); ++k)
        kernels_.push_back({.kernel = &a.workload->kernel(k),
                            .first_address = first_address_of(a.space),
                            .space = static_cast<std::uint8_t>(a.space),
                            .application = static_cast<std::uint8_t>(number),
                            .first_kernel = first_kernel_.back()});
      for (auto const& o : a.workload->operations())
        if (o.kind == OperationKind::kernel)
          kernels_[first_kernel_.back() + o.number].stream = static_cast<std::uint8_t>(streams() + o.stream);
      operations_ += count_of(a.workload->operations());
      for (std::uint32_t i = 0; i < a.workload->streams(); ++i) application_of_stream_.push_back(number);
      spaces_ = std::max(spaces_, a.space + 1);
    }
    FF_CHECK(streams() <= kMaxStreams, "too many streams");
  }
  // One workload alone, on all GPUs and SMs.
  explicit Applications(Workload const& workload)
      : Applications(
            std::vector<Application>{{.name = workload.name(), .workload = &workload, .repeats = 1}}) {}

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
  // GPUs and SMs that an application runs on, in a machine with `gpus` GPUs and `sms` SMs per GPU.
  std::vector<std::uint32_t> gpus_of(std::uint32_t application, std::uint32_t gpus) const {
    return all_or(all_[application].gpus, gpus);
  }
  std::vector<std::uint32_t> sms_of(std::uint32_t application, std::uint32_t sms) const {
    return all_or(all_[application].sms, sms);
  }

  // Number of address spaces: they are numbered from 0.
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
  std::vector<std::uint32_t> first_kernel_;  // indexed by application
  std::vector<std::uint32_t> first_operation_;
  std::vector<std::uint32_t> first_stream_;
  std::vector<std::uint32_t> application_of_stream_;
  std::uint32_t operations_ = 0;
  std::vector<Launchable> kernels_;
  std::uint32_t spaces_ = 1;
};

}  // namespace farfault
