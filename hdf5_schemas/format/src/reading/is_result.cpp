// SPDX-License-Identifier: Apache-2.0
#include <hdf5.h>

#include "farfault/results/reading/guard.hpp"
#include "farfault/results/reading/walk.hpp"
#include "farfault/results/schema.hpp"

namespace farfault::results {

void check_is_result(hid_t file) {
  auto const root = open_group(file, "/");
  if (H5Aexists(root, "schema_version") <= 0 || text_attribute(root, "farfault_version").empty())
    throw Hdf5Failure("the attributes farfault_version and schema_version are missing");
  if (text_attribute(root, "kind") == "sweep")
    throw OtherSchema("is the table of a sweep, not the result of one run");
  check_schema(root);
}

std::int64_t version_of(hid_t root) {
  Handle const attribute(H5Aopen(root, "schema_version", H5P_DEFAULT), "schema_version cannot be read");
  auto const shape = shape_of_attribute(attribute);
  if (shape.kind != Kind::integer || !shape.extents.empty())
    throw Hdf5Failure("schema_version is not a number");
  return static_cast<std::int64_t>(attribute_words(attribute, shape).at(0));
}

void check_schema(hid_t root) {
  auto const version = version_of(root);
  if (version < kOldestSchemaVersion || version > kSchemaVersion)
    throw OtherSchema(std::string("was written by ") + (version < kSchemaVersion ? "an older" : "a newer") +
                      " version of Farfault (schema_version " + std::to_string(version) +
                      "); this program reads schema_version " + std::to_string(kOldestSchemaVersion) +
                      " to " + std::to_string(kSchemaVersion));
}

void check_readable(std::string const& path) {
  read_guarded(path, [](hid_t file) {
    check_is_result(file);
    return std::string("yes");
  });
}

}  // namespace farfault::results
