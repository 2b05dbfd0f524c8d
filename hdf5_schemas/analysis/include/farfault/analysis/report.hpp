// SPDX-License-Identifier: Apache-2.0
// Data of a report page, from a result of any size: a bounded amount of JSON.
//
// One JSON object in ASCII, {"kind":"report_data",...}:
//   path, farfault_version, digest, end_reason, seed, end_ps, command_line, config
//   engine      [{name, text, units, value}]: single values of the self-profile
//   summary     [{metric, text, units, value}]: figures of the machine
//   nodes       [[name, kind, machine]], links [[a, b, kind]]: the whole machine
//   link_use    traffic of each link direction: {link, from, to, bytes, packets, busy, over_time}
//   clocks      [[time in ps]]: ends of intervals; each is the time of a sample
//   series      activity of each GPU over time: {id, title, units, clock, rows}
//   totals      every statistic of the whole machine: {id, title, units, clock, rows}, one row each
//   stack, sms  stages of accesses and SM activity over time: {units, clock, rows}
//   gpu_stacks  totals of the busiest GPUs: {all, gpus, stages: [{what, part, ps}], sms: the same}
//   gpus        activity of each GPU, for two or more: {names, charts, stages, sms, rest, totals, links};
//               `rest` is the SM activity in the remaining time
//   histograms  [{id, title, unit, bins, counts, percentiles: [[50, value], ...]}]: of the whole machine
//   placement   {devices, per_row, buffers: [{name, all, pages}]}: final location of the pages of buffers
//   kernels, batches: tables, the longest rows: {rows, shown, columns: {name: values}}
//   traffic     {devices, per_row, bytes: [[from, to, bytes]]}: devices in groups of `per_row`
//
// - Row: {name, scale, values}. Values are integers up to 9,999, times scale; null: no value. A counter is
// shown
//   as its rate in the interval (per second; a time as a ratio), a level as the last sample of the interval.
//   `part`: index of a stack's part among all possible parts.
// - Chart, stage or SM state of `gpus`: {clock, bytes, scale, values} in base64, little-endian: one float
// scale
//   per GPU, and a number of one or two bytes per GPU and interval, times scale; the highest number: no
//   value. Totals: floats in ps, per GPU. Links: {nodes, rows: [[GPU, node at the other end, whether the GPU
//   sends, bytes, packets, busy share of the run]]}.
//
// Guarantees and errors: as in reader.hpp; any file may be given. Limits: names are cut at 80 bytes; with
// more GPUs than rows, the rows are the mean, minimum and maximum, and the busiest GPUs.
#pragma once

#include <cstddef>
#include <string>

namespace farfault::analysis {

struct ReportSize {
  std::size_t points = 400;           // intervals of time
  std::size_t gpus = 8;               // rows per series
  std::size_t gpu_stacks = 32;        // GPUs with totals
  std::size_t kernels = 600;          // also fault batches
  std::size_t devices = 128;          // rows of the traffic matrix
  std::size_t links = 20'000;         // directions with utilization over time
  std::size_t gpu_bytes = 1'600'000;  // approximate size of the activity of all GPUs
  std::size_t buffers = 64;
  std::size_t config_bytes = 200'000;
};

std::string report_data(std::string const& path, ReportSize const& size = {});

}  // namespace farfault::analysis
