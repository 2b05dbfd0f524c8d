// SPDX-License-Identifier: Apache-2.0
// Private: the applications of a configuration: those of [[application]], or the one of [workload].
//
// An [[application]] of a file takes the place of [workload] and of all applications in the files that it
// includes; [workload] beside or above it is a mistake. What an application is called stands for the number
// of its table, so that application.NAME.sms is a key.
//
// Errors: bind() and share() tell `config` of mistakes; build() throws UserError.
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
    std::string key;  // of its table: "application.stencil"; "workload" where that says what runs
    ApplicationParams params;
    std::unique_ptr<workloads::WorkloadBuilder> builder;
    std::string file;  // the parameter that names the workload's input; empty where it has none
    Share gpus, sms;
    std::vector<std::uint32_t> gpu_numbers, sm_numbers;  // empty: all
    std::uint32_t space = 0;
  };

  ApplicationSet() = default;
  ApplicationSet(ApplicationSet const&) = delete;
  ApplicationSet& operator=(ApplicationSet const&) = delete;

  // Before the configuration is read.
  static void prepare(Config& config) { config.replaces("application", "workload"); }
  void bind(Config& config, std::vector<workloads::WorkloadInfo> const& known, Policies const* policies);
  // Recomputes the values derived from the parameters: part of bind(), and again after Config::vary().
  void derive(Config& config);
  // Which GPUs and SMs each has, of so many of a host and of a GPU. After bind() without mistakes.
  void share(Config& config, std::uint32_t gpus, std::uint32_t sms);
  // Makes the workloads, one after the other; `folder_of` tells where names of files start that a parameter
  // gives.
  void build(Config const& config, workloads::BuildContext context,
             std::function<std::string(std::string const& parameter)> const& folder_of);

  // Whether [[application]] says what runs.
  bool are_listed() const { return listed_; }
  std::vector<One> const& all() const { return all_; }
  bool names_file(std::string const& parameter) const;

  // Once they are built. The workloads, in the order of all(), are where they are as long as this is there.
  Workload const& workload(std::size_t application) const { return workloads_[application]; }
  Applications const& applications() const { return applications_; }
  std::uint64_t footprint() const;  // bytes of the buffers of all
  // Of all kernels, as often as they repeat.
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
  // Those that no list and no count of an application has that shares a GPU with this one.
  std::vector<std::uint32_t> sms_left(One const& one, std::uint32_t sms) const;
  static void derive(Config& config, One& one);
  void number_spaces();
  void check_overlap(Config const& config, std::size_t application, std::uint64_t page_bytes) const;

  bool listed_ = false;
  std::vector<One> all_;
  std::vector<std::unique_ptr<workloads::WorkloadBuilder>> not_chosen_;  // whose parameters may vary
  std::deque<Workload> workloads_;
  Applications applications_;
};

}  // namespace farfault::cli
