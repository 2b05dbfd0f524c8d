// SPDX-License-Identifier: Apache-2.0
#include "summary_rows.hpp"

#include <hdf5.h>

#include "farfault/results/reading/walk.hpp"

namespace farfault::results {

void pack_summary_of(hid_t file, std::string const& scope, Pack& pack) {
  auto const folder = "/summary/" + scope;
  auto const names_set = open_dataset(file, folder + "/name");
  auto const names_shape = shape_of_dataset(names_set);
  if (names_shape.kind != Kind::text) throw Hdf5Failure(folder + "/name is not text");
  auto const names = read_texts(names_set, names_shape, 0, names_shape.rows());
  auto const group = open_group(file, folder);
  for (auto const& metric : link_names(group)) {
    if (metric == "name") continue;
    auto const dataset = open_dataset(file, folder + "/" + metric);
    auto const shape = shape_of_dataset(dataset);
    if (shape.kind != Kind::unsigned_integer || shape.rows() != names.size() || shape.row_values != 1)
      throw Hdf5Failure(folder + "/" + metric + " does not have one count per name");
    auto const values = read_words(dataset, shape, 0, shape.rows());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] == UINT64_MAX && H5Aexists(dataset, "_FillValue") > 0) continue;
      pack.put(1);
      for (auto const& text :
           {scope, names[i], metric, text_attribute(dataset, "units"), text_attribute(dataset, "long_name")})
        pack.put(text);
      pack.put(values[i]);
    }
  }
}

std::vector<SummaryRow> unpack_summary(Pack& pack) {
  std::vector<SummaryRow> rows;
  while (pack.number() != 0) {
    auto& row = rows.emplace_back();
    for (auto* field : {&row.scope, &row.name, &row.metric, &row.unit, &row.text}) *field = pack.text();
    row.value = pack.number();
  }
  return rows;
}

}  // namespace farfault::results
