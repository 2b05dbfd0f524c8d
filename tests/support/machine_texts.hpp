// SPDX-License-Identifier: Apache-2.0
// Machine files of a given size, for tests of limits and of growth.
#pragma once

#include <string>

namespace farfault::test {

// GPUs of one CPU, every two of them connected by an NVLink of a bandwidth matrix (hwloc XML).
inline std::string hwloc_matrix(int gpus) {
  std::string objects, indexes, values;
  for (int i = 0; i < gpus; ++i) {
    objects +=
        "<object type=\"PCIDev\" gp_index=\"" + std::to_string(i) + "\" pci_type=\"0302 [10de:1db8]\"/>";
    indexes += std::to_string(i) + " ";
    for (int j = 0; j < gpus; ++j) values += i == j ? "0 " : "25000 ";
  }
  return "<topology><object type=\"Package\" gp_index=\"9999\">" + objects +
         "</object><distances2 type=\"PCIDev\" name=\"NVLinkBandwidth\" nbobjs=\"" + std::to_string(gpus) +
         "\"><indexes>" + indexes + "</indexes><u64values>" + values + "</u64values></distances2></topology>";
}

// NICs without a PCI slot, and one GPU (NCCL XML).
inline std::string nccl_nics(int nics) {
  std::string text = "<system><cpu numaid=\"0\"><pci busid=\"1\" class=\"0x0302\"/>";
  for (int i = 0; i < nics; ++i) text += "<nic><net name=\"n" + std::to_string(i) + "\"/></nic>";
  return text + "</cpu></system>";
}

}  // namespace farfault::test
