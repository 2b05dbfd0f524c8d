#include "farfault/engine/path_recorder.hpp"

#include <algorithm>
#include <chrono>

namespace farfault {

PathRecorder::PathRecorder(std::uint32_t partitions, std::vector<std::uint32_t> const& partition_of_component)
    : partition_of_(partition_of_component),
      partition_done_(partitions),
      component_done_(partition_of_component.size()),
      partition_events_(partitions) {
  for (auto const cores : PathProfile::kCores)
    cores_.emplace_back(std::greater<>{}, std::vector<std::uint64_t>(cores, 0));
}

double PathRecorder::now() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void PathRecorder::begin(Event const& e, std::uint32_t component) {
  component_ = component;
  ready_ = partition_done_[partition_of_[component]];
  ready_.component_path = component_done_[component];
  if (auto const found = sender_.find(key(e)); found != sender_.end()) {
    auto& record = records_[found->second];
    auto const& sender = record.point;
    ready_.path = std::max(ready_.path, sender.path);
    ready_.component_path = std::max(ready_.component_path, sender.component_path);
    ready_.host_path = std::max(ready_.host_path, sender.host_path);
    for (std::size_t i = 0; i < ready_.finish.size(); ++i)
      ready_.finish[i] = std::max(ready_.finish[i], sender.finish[i]);
    if (--record.uses == 0) free_records_.push_back(found->second);
    sender_.erase(found);
  }
  sent_.clear();
  began_ = now();
}

void PathRecorder::end() {
  auto const cost = std::min(now() - began_, kInterrupted);
  ++events_;
  host_ns_ += cost;
  auto done = ready_;
  ++done.path;
  ++done.component_path;
  done.host_path += cost;
  for (std::size_t i = 0; i < cores_.size(); ++i) {
    done.finish[i] = std::max(done.finish[i], cores_[i].top()) + 1;
    cores_[i].pop();
    cores_[i].push(done.finish[i]);
    last_.finish[i] = std::max(last_.finish[i], done.finish[i]);
  }
  last_.path = std::max(last_.path, done.path);
  last_.component_path = std::max(last_.component_path, done.component_path);
  last_.host_path = std::max(last_.host_path, done.host_path);
  auto const partition = partition_of_[component_];
  partition_done_[partition] = done;
  ++partition_events_[partition];
  component_done_[component_] = done.component_path;
  if (sent_.empty()) return;
  std::uint32_t id = 0;
  if (free_records_.empty()) {
    id = static_cast<std::uint32_t>(records_.size());
    records_.emplace_back();
  } else {
    id = free_records_.back();
    free_records_.pop_back();
  }
  records_[id] = {done, static_cast<std::uint32_t>(sent_.size())};
  for (auto const& k : sent_) sender_.emplace(k, id);
}

PathProfile PathRecorder::profile() const {
  PathProfile p;
  p.events = events_;
  p.path = last_.path;
  p.component_path = last_.component_path;
  p.host_ns = host_ns_;
  p.host_path_ns = last_.host_path;
  p.list_schedule = last_.finish;
  auto const busiest = std::max_element(partition_events_.begin(), partition_events_.end());
  p.busiest_partition = static_cast<std::uint32_t>(busiest - partition_events_.begin());
  p.busiest = *busiest;
  return p;
}

}  // namespace farfault
