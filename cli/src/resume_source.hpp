// SPDX-License-Identifier: Apache-2.0
// Private: which checkpoint `--resume F` means.
#pragma once

#include <optional>
#include <string>

#include "farfault/engine/checkpoint.hpp"

namespace farfault::cli {

struct ResumeSource {
  std::optional<Checkpoint> checkpoint;  // nothing: the run starts from the beginning
  std::string path;                      // of the file that was read
  std::string note;                      // what differs from what was asked for; a sentence, or empty
};

// F; where it is missing or damaged, F.previous; where neither is there and F is also where checkpoints of
// this run go (`written`, may be empty), the beginning: the first job of a chain has the command line of the
// others. Throws UserError when none of this is possible.
ResumeSource find_resume_source(std::string const& asked, std::string const& written);

}  // namespace farfault::cli
