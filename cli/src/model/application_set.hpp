// SPDX-License-Identifier: Apache-2.0
// Private: the applications of a configuration: its [[application]] tables, or the application of [workload].
//
// The [[application]] tables of a file replace [workload] and all applications of included files; [workload]
// in the same file or in a file that includes it is an error. The name of an application can replace the
// number of its table: application.NAME.sms is a key.
//
// Errors: bind() and share() report errors to `config`; build() throws UserError.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "application_params.hpp"
#include "farfault/engine/config.hpp"
#include "farfault/protocols/applications.hpp"
#include "farfault/workloads/registry.hpp"

namespace farfault::cli {

class ApplicationSet {
 public:
  struct One {
    std::string key;  // of its table: "application.stencil"; "workload" if [workload] is used
    ApplicationParams params;
    std::unique_ptr<workloads::WorkloadBuilder> builder;
    std::string file;  // the parameter that names the workload's input; empty if it has none
    Share gpus, sms;
    std::vector<std::uint32_t> gpu_numbers, sm_numbers;  // empty: all
    std::uint32_t space = 0;
  };

  ApplicationSet() = default;
  ApplicationSet(ApplicationSet const&) = delete;
  ApplicationSet& operator=(ApplicationSet const&) = delete;

  // Call before the configuration is read.
  static void prepare(Config& config) { config.replaces("application", "workload"); }
  void bind(Config& config, std::vector<workloads::WorkloadInfo> const& known, Policies const* policies);
  // Recomputes the values derived from the parameters: part of bind(), and again after Config::vary().
  void derive(Config& config);
  // Assigns GPUs and SMs to each application, given the GPUs of a host and the SMs of a GPU. Call after
  // bind() without errors.
  void share(Config& config, std::uint32_t gpus, std::uint32_t sms);
  // Builds the workloads, one after the other. `folder_of`: the folder to which the file name in a parameter
  // is relative.
  void build(Config const& config, workloads::BuildContext context,
             std::function<std::string(std::string const& parameter)> const& folder_of);

  // True if the configuration has [[application]] tables.
  bool are_listed() const { return listed_; }
  std::vector<One> const& all() const { return all_; }
  bool names_file(std::string const& parameter) const;

  // After build(): the workloads, in the order of all(). References are valid for the lifetime of the set.
  Workload const& workload(std::size_t application) const { return workloads_[application]; }
  Applications const& applications() const { return applications_; }
  std::uint64_t footprint() const;  // bytes of the buffers of all
  // Thread blocks of all kernels, with repetitions.
  std::uint64_t blocks() const;
  std::uint64_t blocks_of(std::uint32_t application) const;

 private:
  void bind_workload(Config& config, std::vector<workloads::WorkloadInfo> const& known,
                     Policies const* policies);
  void bind_listed(Config& config, One& one, std::vector<workloads::WorkloadInfo> const& known,
                   Policies const* policies);
  void name_tables(Config& config, std::vector<workloads::WorkloadInfo> const& known);
  void share_sms(Config& config, One& one, std::uint32_t sms) const;
  void share_equally(Config& config, std::uint32_t gpus, std::uint32_t sms);
  // The SMs that no list and no count assigns to an application that shares a GPU with this one.
  std::vector<std::uint32_t> sms_left(One const& one, std::uint32_t sms) const;
  static void derive(Config& config, One& one);
  void number_spaces();
  void check_overlap(Config const& config, std::size_t application, std::uint64_t page_bytes) const;

  bool listed_ = false;
  std::vector<One> all_;
  std::vector<std::unique_ptr<workloads::WorkloadBuilder>> not_chosen_;  // their parameters may vary
  std::deque<Workload> workloads_;
  Applications applications_;
};

}  // namespace farfault::cli
