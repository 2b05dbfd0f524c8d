// SPDX-License-Identifier: Apache-2.0
// What a report shows of a run, from a result of any size: a bounded amount of text.
//
// One JSON object, in ASCII alone, {"kind":"report_data",...}:
//   path, farfault_version, digest, end_reason, seed, end_ps, command_line, config
//   engine      [{name, text, units, value}]: single values of the self-profile
//   summary     [{metric, text, units, value}]: those of the machine
//   nodes       [[name, kind, machine]], links [[a, b, kind]]: the machine, whole
//   link_use    what went over each direction of a link: {link, from, to, bytes, packets, busy, over_time}
//   clocks      [[time in ps]]: ends of intervals, each a moment at which the run was sampled
//   series      what each GPU did over time: {id, title, units, clock, rows}
//   totals      every statistic, of the whole machine: {id, title, units, clock, rows}, of one row each
//   stack, sms  where accesses were and what SMs did over time: {units, clock, rows}
//   gpu_stacks  in total, of the busiest GPUs: {all, gpus, stages: [{what, part, ps}], sms: the same}
//   gpus        what each GPU did, of two and more: {names, charts, stages, sms, rest, totals, links};
//               `rest` is what SMs did in the rest of their time
//   histograms  [{id, title, unit, bins, counts, percentiles: [[50, value], ...]}]: of the whole machine
//   placement   {devices, per_row, buffers: [{name, all, pages}]}: where the pages of buffers were at the end
//   kernels, batches: tables, the longest rows: {rows, shown, columns: {name: values}}
//   traffic     {devices, per_row, bytes: [[from, to, bytes]]}: devices in groups of `per_row`
// A row is {name, scale, values}: whole numbers up to 9,999, times the scale; null where there is no value.
// Of a counter it is how fast it grew in the interval: per second; of time, per time. Of a level it is what
// the sample at its end says. The parts of a stack have their number among all there can be, `part`.
//
// A chart, stage or SM state of `gpus` is {clock, bytes, scale, values}: in base64, scale a float for each
// GPU and values a number of one or two bytes for each GPU and interval, all little-endian; times the scale.
// The highest number says that there is no value. Totals are floats of ps, by GPU. Links are {nodes, rows:
// [[GPU, node at the other end, whether the GPU sends, bytes, packets, share of the run that it was busy]]}.
//
// Guarantees and errors are those of reader.hpp: any file may be given; names are cut at 80 bytes. Where
// there are more GPUs than rows, the rows are their mean, least and most, and the busiest ones.
#pragma once

#include <cstddef>
#include <string>

namespace farfault::results {

struct ReportSize {
  std::size_t points = 400;           // of time
  std::size_t gpus = 8;               // rows of each series
  std::size_t gpu_stacks = 32;        // GPUs whose totals are shown
  std::size_t kernels = 600;          // and fault batches
  std::size_t devices = 128;          // rows of the traffic matrix
  std::size_t links = 20'000;         // directions, with their use over time
  std::size_t gpu_bytes = 1'600'000;  // of what each GPU did over time, about
  std::size_t buffers = 64;
  std::size_t config_bytes = 200'000;
};

std::string report_data(std::string const& path, ReportSize const& size = {});

}  // namespace farfault::results
