// SPDX-License-Identifier: Apache-2.0
// Private: selects the checkpoint for `--resume F`.
#pragma once

#include <optional>
#include <string>

#include "farfault/engine/checkpoint.hpp"

namespace farfault::cli {

struct ResumeSource {
  std::optional<Checkpoint> checkpoint;  // none: the run starts from the beginning
  std::string path;                      // of the selected file
  std::string note;                      // a sentence if the source is not F itself; else empty
};

// Selects F; if it is missing or damaged, F.previous; if neither exists and F is also the output for
// checkpoints of this run (`written`, may be empty), the beginning: the first job of a chain has the same
// command line as the others. Throws UserError if none of these is possible.
ResumeSource find_resume_source(std::string const& asked, std::string const& written);

}  // namespace farfault::cli
