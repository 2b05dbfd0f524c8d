// SPDX-License-Identifier: Apache-2.0
#include "farfault/workloads/trace.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

#include "spec_builder.hpp"

namespace farfault::workloads::trace {
namespace {

struct Spec {
  std::string file;
  std::uint64_t max_instructions = TraceOptions{}.max_instructions;

  void describe(ParamTable& t) {
    t.file("file", file, "Accel-Sim kernel list, folder with kernelslist.g, or one .traceg file",
           "simulator setting");
    t.count("max_instructions", max_instructions, {1, 4'000'000'000},
            "Maximum memory instructions and runs of other instructions in a trace, 24 B each", "assumed");
  }
};

Workload build(Spec const& spec, BuildContext const& context) {
  if (spec.file.empty()) throw ParameterError("file", "\"\"", "must name a trace");
  std::filesystem::path path(spec.file);
  if (path.is_relative() && !context.base_folder.empty()) path = context.base_folder / path;
  return read_trace(path.string(), context, {spec.max_instructions});
}

}  // namespace

WorkloadInfo info() {
  return {"trace", "SASS trace of Accel-Sim's NVBit tracer", &SpecBuilder<Spec, build>::make};
}

}  // namespace farfault::workloads::trace
