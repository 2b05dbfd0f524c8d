// SPDX-License-Identifier: Apache-2.0
#include <hdf5.h>

#include <algorithm>
#include <functional>

#include "digest_of.hpp"
#include "farfault/engine/error.hpp"
#include "farfault/results/reader.hpp"
#include "farfault/results/reading/guard.hpp"
#include "farfault/results/reading/walk.hpp"
#include "file/object_type.hpp"

namespace farfault::results {
namespace {

class Validation {
 public:
  explicit Validation(hid_t file) : file_(file) {}

  std::string run() {
    check_is_result(file_);
    auto const root = open_group(file_, "/");
    for (auto const* name : {"Conventions", "end_reason"})
      if (text_attribute(root, name).empty()) problem("/ has no attribute " + std::string(name));
    for (auto const* path : {"/config/toml", "/config/command_line", "/config/seed"})
      expect(path, H5O_TYPE_DATASET);
    for (auto const* path : {"/timeseries", "/tables"}) expect(path, H5O_TYPE_GROUP);
    columns("/config/inputs", "input", {"parameter", "path", "bytes", "hash"});
    if (has(file_, "/config/unused")) columns("/config/unused", "setting", {"key", "only_with", "instead"});
    columns("/topology/nodes", "node", {"name", "kind"});
    if (has(file_, "/topology/nodes/machine"))  // a cluster
      columns("/topology/nodes", "node", {"machine", "host", "driver"});
    columns("/topology/links", "link",
            {"a", "b", "kind", "latency_ps", "forward_bytes_per_s", "backward_bytes_per_s"});
    bool const finished = text_attribute(root, "end_reason") != "running";
    if (finished) expect("/summary", H5O_TYPE_GROUP);

    each_group("/timeseries", [&](std::string const& folder) { series(folder); });
    each_group("/tables", [&](std::string const& folder) { same_length(folder, "row"); });
    each_group("/summary", [&](std::string const& folder) { same_length(folder, "name"); });
    links_join_nodes();
    descriptions(root, "", 0);

    auto const stored = text_attribute(root, "result_digest");
    if (stored.empty()) {
      problem(finished ? "/ has no attribute result_digest"
                       : "the run did not finish: result_digest is missing");
    } else if (auto const digest = digest_of(file_); digest != stored) {
      problem("result_digest is " + stored + ", but the digest of the content is " + digest);
    }
    for (auto const& text : problems_) pack_.put(text);
    return pack_.take();
  }

 private:
  void problem(std::string text) {
    constexpr std::size_t kMax = 100, kLongest = 400;
    if (problems_.size() >= kMax) return;
    if (text.size() > kLongest) text = std::string(first_characters(text, kLongest)) + "...";
    problems_.push_back(one_line(text));
  }

  bool expect(std::string const& path, H5O_type_t type) {
    auto const* const what = type == H5O_TYPE_GROUP ? "group" : "dataset";
    if (!has(file_, path) || type_of(open_object(file_, path)) != type) {
      problem("the " + std::string(what) + " " + path + " is missing");
      return false;
    }
    return true;
  }

  void columns(std::string const& folder, std::string const& scale, std::vector<std::string> const& names) {
    if (!expect(folder, H5O_TYPE_GROUP)) return;
    for (auto const& name : names) expect(folder + "/" + name, H5O_TYPE_DATASET);
    same_length(folder, scale);
  }

  void each_group(std::string const& path, std::function<void(std::string const&)> const& visit) {
    if (!has(file_, path) || type_of(open_object(file_, path)) != H5O_TYPE_GROUP) return;
    auto const group = open_group(file_, path);
    for (auto const& name : link_names(group)) {
      auto const child = path + "/" + name;
      if (expect(child, H5O_TYPE_GROUP)) visit(child);
    }
  }

  Shape shape(std::string const& path) {
    auto const dataset = open_dataset(file_, path);
    return shape_of_dataset(dataset);
  }

  std::vector<std::string> datasets(std::string const& folder) {
    auto const group = open_group(file_, folder);
    std::vector<std::string> names;
    for (auto const& name : link_names(group))
      if (type_of(open_object(group, name)) == H5O_TYPE_DATASET) names.push_back(name);
    return names;
  }

  void same_length(std::string const& folder, std::string const& scale) {
    if (!expect(folder + "/" + scale, H5O_TYPE_DATASET)) return;
    auto const rows = shape(folder + "/" + scale).rows();
    for (auto const& name : datasets(folder)) {
      auto const s = shape(folder + "/" + name);
      if (s.extents.size() != 1 || s.rows() != rows)
        problem(folder + "/" + name + " does not have the length of " + folder + "/" + scale + " (" +
                std::to_string(rows) + ")");
    }
  }

  void series(std::string const& folder) {
    if (!expect(folder + "/time_ps", H5O_TYPE_DATASET) || !expect(folder + "/instance", H5O_TYPE_DATASET))
      return;
    auto const samples = shape(folder + "/time_ps").rows();
    auto const instances = shape(folder + "/instance").rows();
    auto const names = datasets(folder);
    if (std::ranges::find(names, "application") != names.end() &&
        shape(folder + "/application").rows() != instances)
      problem(folder + "/application does not have the length of " + folder + "/instance (" +
              std::to_string(instances) + ")");
    for (auto const& name : names) {
      if (is_coordinate(name)) continue;
      auto const s = shape(folder + "/" + name);
      if (s.extents.size() < 2 || s.extents.size() > 3 || s.extents[0] != samples ||
          s.extents[1] != instances) {
        problem(folder + "/" + name + " does not have the shape [" + std::to_string(samples) + " times, " +
                std::to_string(instances) + " instances]");
        continue;
      }
      auto const dataset = open_dataset(file_, folder + "/" + name);
      auto const kind = text_attribute(dataset, "kind");
      if (kind != "counter" && kind != "level" && kind != "histogram")
        problem(folder + "/" + name + " has no attribute kind with the value counter, level or histogram");
    }
    rising_times(folder + "/time_ps");
  }

  void rising_times(std::string const& path) {
    auto const dataset = open_dataset(file_, path);
    auto const s = shape_of_dataset(dataset);
    if (s.kind != Kind::integer || s.extents.size() != 1)
      return problem(path + " is not a list of integer times");
    std::int64_t last = INT64_MIN;
    bool rising = true;
    for_pieces(s, [&](std::uint64_t row, std::uint64_t rows) {
      for (auto const word : read_words(dataset, s, row, rows)) {
        rising = rising && static_cast<std::int64_t>(word) >= last;
        last = static_cast<std::int64_t>(word);
      }
    });
    if (!rising) problem(path + " is not in ascending order");
  }

  void links_join_nodes() {
    if (!has(file_, "/topology/links/a") || !has(file_, "/topology/links/b") ||
        !has(file_, "/topology/nodes/node"))
      return;
    auto const nodes = shape("/topology/nodes/node").rows();
    for (auto const* path : {"/topology/links/a", "/topology/links/b"}) {
      auto const dataset = open_dataset(file_, path);
      auto const s = shape_of_dataset(dataset);
      if (s.kind != Kind::unsigned_integer || s.row_values != 1) {
        problem(std::string(path) + " does not contain node indices");
        continue;
      }
      bool sound = true;
      for_pieces(s, [&](std::uint64_t row, std::uint64_t rows) {
        for (auto const node : read_words(dataset, s, row, rows)) sound = sound && node < nodes;
      });
      if (!sound) problem(std::string(path) + " refers to a missing node");
    }
  }

  void descriptions(hid_t group, std::string const& path, int depth) {
    if (depth > kMaxDepth) throw Hdf5Failure("groups are nested too deeply");
    for (auto const& name : link_names(group)) {
      auto const child = path + "/" + name;
      auto const object = open_object(group, name);
      auto const type = type_of(object);
      if (type == H5O_TYPE_GROUP) descriptions(object, child, depth + 1);
      if (type != H5O_TYPE_DATASET) continue;
      for (auto const* attribute : {"units", "long_name"})
        if (text_attribute(object, attribute).empty()) problem(child + " has no attribute " + attribute);
    }
  }

  hid_t file_;
  std::vector<std::string> problems_;
  Pack pack_;
};

}  // namespace

std::vector<std::string> validate(std::string const& path) {
  auto const answer = read_guarded(path, [](hid_t file) { return Validation(file).run(); });
  Pack pack(answer);
  std::vector<std::string> problems;
  for (std::size_t read = 0; read < answer.size(); read += 8 + problems.back().size())
    problems.push_back(pack.text());
  return problems;
}

}  // namespace farfault::results
