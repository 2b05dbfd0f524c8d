// SPDX-License-Identifier: Apache-2.0
#include "resume_source.hpp"

#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"

namespace farfault::cli {

namespace {

constexpr char const* kRemedy = "; omit --resume to start the run from the beginning";

std::string why_unusable(std::string const& path, std::optional<Checkpoint>& into) {
  try {
    into = read_checkpoint(path);
    return {};
  } catch (UserError const& e) {
    return e.what();
  }
}

}  // namespace

ResumeSource find_resume_source(std::string const& asked, std::string const& written) {
  auto const previous = previous_checkpoint(asked);
  ResumeSource source{{}, asked, {}};
  if (!exists(asked) && !exists(previous)) {
    if (written.empty() || !same_file(asked, written))
      throw UserError("checkpoint " + asked + " cannot be read: neither this file nor " + previous +
                      " exists");
    source.note = "no checkpoint " + asked + " yet: the run starts from the beginning";
    return source;
  }
  auto const why =
      exists(asked) ? why_unusable(asked, source.checkpoint) : "checkpoint " + asked + " is missing";
  if (source.checkpoint) return source;
  if (!exists(previous)) throw UserError(why + kRemedy);
  auto const why_previous = why_unusable(previous, source.checkpoint);
  if (!source.checkpoint) throw UserError(why + "; " + why_previous + kRemedy);
  source.path = previous;
  source.note = why + "; the run resumes from the previous one, " + previous;
  return source;
}

}  // namespace farfault::cli
