// One entry per workload file, and the builder that all of them share.
#pragma once

#include <memory>

#include "farfault/workloads/registry.hpp"

namespace farfault::workloads {

void check_context(BuildContext const& context);

// A builder made of a Spec and a function; the Spec has `void describe(ParamTable&)`.
template <class Spec, Workload (*Build)(Spec const&, BuildContext const&)>
class SpecBuilder final : public WorkloadBuilder {
 public:
  void describe(ParamTable& table) override { spec_.describe(table); }
  Workload build(BuildContext const& context) const override {
    check_context(context);
    return Build(spec_, context);
  }

  static std::unique_ptr<WorkloadBuilder> make() { return std::make_unique<SpecBuilder>(); }

 private:
  Spec spec_;
};

WorkloadInfo vectoradd_info();
WorkloadInfo transpose_info();
WorkloadInfo fir_info();
WorkloadInfo relu_info();
WorkloadInfo maxpool_info();
WorkloadInfo aes_info();
WorkloadInfo fft_info();
WorkloadInfo kmeans_info();
WorkloadInfo stencil2d_info();
WorkloadInfo bfs_info();
WorkloadInfo pagerank_info();
WorkloadInfo pointer_chase_info();
WorkloadInfo stream_info();
WorkloadInfo exchange_info();
WorkloadInfo trace_info();

}  // namespace farfault::workloads
