#include "farfault/cli/result_files.hpp"

#include <ostream>

#include "farfault/engine/error.hpp"
#include "farfault/results/reader.hpp"

namespace farfault::cli {

bool diff_results(std::string const& a, std::string const& b, std::ostream& out) {
  auto const difference = results::diff(a, b);
  if (!difference) {
    out << "the results are equal";
    auto const renamed = results::renamed_inputs(a, b);
    for (std::size_t i = 0; i < renamed.size(); ++i)
      out << (i == 0 ? "; input files of the same content have other names: " : ", ") << renamed[i];
    out << "\n";
    return true;
  }
  out << difference->path << ": " << difference->text << "\n";
  return false;
}

void validate_result(std::string const& file, std::ostream& out) {
  auto const faults = results::validate(file);
  if (faults.empty()) {
    out << file << ": a sound result\n";
    return;
  }
  auto sentence = file + ": " + faults[0];
  if (faults.size() > 1) sentence += " (and " + std::to_string(faults.size() - 1) + " more faults)";
  throw UserError(sentence);
}

}  // namespace farfault::cli
