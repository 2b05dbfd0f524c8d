// SPDX-License-Identifier: Apache-2.0
#include "resume_source.hpp"

#include <utility>

#include "farfault/engine/error.hpp"
#include "farfault/engine/files.hpp"

namespace farfault::cli {

namespace {

constexpr char const* kRemedy = "; omit --resume to start the run from the beginning";

// Reads a checkpoint, or finds out why it cannot be used.
struct Attempt {
  std::optional<Checkpoint> checkpoint = {};
  std::string why_not = {};
  bool lasting = true;  // the file is missing or damaged: another attempt fails as well

  explicit Attempt(std::string const& path) {
    if (!exists(path)) {
      why_not = "checkpoint " + path + " is missing";
      return;
    }
    try {
      checkpoint = read_checkpoint(path);
    } catch (ResumeError const& e) {
      why_not = e.what();
    } catch (UserError const& e) {
      why_not = e.what();
      lasting = false;
    }
  }
};

[[noreturn]] void refuse(std::string const& why, bool lasting) {
  if (lasting) throw ResumeError(why, kRemedy);
  throw UserError(why + kRemedy);
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
  Attempt latest(asked);
  source.checkpoint = std::move(latest.checkpoint);
  if (source.checkpoint) return source;
  if (!exists(previous)) refuse(latest.why_not, latest.lasting);
  Attempt earlier(previous);
  source.checkpoint = std::move(earlier.checkpoint);
  if (!source.checkpoint) refuse(latest.why_not + "; " + earlier.why_not, latest.lasting && earlier.lasting);
  source.path = previous;
  source.note = latest.why_not + "; the run resumes from the previous one, " + previous;
  return source;
}

}  // namespace farfault::cli
