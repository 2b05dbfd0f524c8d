// SPDX-License-Identifier: Apache-2.0
#include "farfault/fabric/fabric.hpp"

namespace farfault {
namespace {

// Clients of a device's links.
constexpr std::size_t kData = 0;
constexpr std::size_t kTranslations = 1;

std::string describe_waiting(std::uint64_t queued) {
  return queued == 0 ? std::string{} : std::to_string(queued) + " packets queued for a link";
}

// Callback for a packet that departs over a link. If the far end is a switch, it sends the packet to its
// output there with the flow for the next hop. It then calls `on_departure(packet, departure of its last
// line)`.
template <class Cx, class OnDeparture>
auto departure_over(LinkEnd const& link, Out<Packet> const& port, Cx& cx, OnDeparture on_departure) {
  return [&link, &port, &cx, on_departure](Packet& p, Passage const& done) {
    auto const arrived_via = p.route.via;
    if (auto const more = p.train().more; more != 0) p.set_train(done.train(more));
    p.route.via = link.far_via;
    std::uint32_t output = 0;
    if (link.far_route != nullptr) {
      auto const step = link.far_route->next(p.route);
      FF_CHECK(step.link != RouteTable::kNone, "the next switch has no route for a packet");
      output = step.link;
      p.route.flow = step.flow;
    }
    cx.send(port, output, p, done.first - cx.now());
    p.route.via = arrived_via;
    on_departure(p, done.last);
  };
}

// The buffer of `packet` is free from `at` on. Credits are returned to the sender in batches.
template <class Cx>
void return_credit(FabricNodeSpec const& node, std::vector<Out<Credit>> const& ports,
                   std::vector<std::uint32_t>& unreturned_credits, Packet const& packet, Time at, Cx& cx) {
  auto const via = packet.route.via;
  auto const& link = node.links[via];
  auto const channel = static_cast<std::uint16_t>(channel_of(packet.route.kind));
  auto& unreturned = unreturned_credits[via * std::size_t{kChannels} + channel];
  unreturned += link.format.bytes(packet.route.payload) * packet.train().lines();
  if (unreturned < link.batch) return;
  cx.send(ports[via], Credit{link.far_via, channel, unreturned}, at - cx.now());
  unreturned = 0;
}

}  // namespace

std::uint64_t lines_in(Bandwidth bandwidth, Duration time, std::uint32_t line_bytes) {
  __extension__ using Wide = unsigned __int128;
  auto const bytes = static_cast<Wide>(bandwidth.bytes_per_second) *
                     static_cast<std::uint64_t>(time.count()) / 1'000'000'000'000;
  return static_cast<std::uint64_t>(std::min<Wide>(bytes / line_bytes, 1U << 31U));
}

std::uint32_t FabricParams::inbound_of(Bandwidth all_links, std::uint32_t line_bytes) const {
  if (inbound != 0) return inbound;
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(lines_in(all_links, service_time, line_bytes), 1, 1 << 20));
}

std::uint32_t FabricParams::memory_credits_of(std::uint32_t inbound_entries, std::uint32_t slices) const {
  return memory_credits != 0 ? memory_credits : (2 * inbound_entries + slices - 1) / slices;
}

// ---- SwitchOutput

SwitchOutput::SwitchOutput(Slot<SwitchOutputSpec> slot) : Component(std::move(slot)) {
  for (std::size_t i = 0; i < spec().fabric.links.size(); ++i)
    credit_out.push_back(out<Credit>("credit_out" + std::to_string(i)));
}

SwitchOutputState SwitchOutput::initial() const {
  auto const& f = spec().fabric;
  SwitchOutputState s;
  auto const& link = f.links[spec().link];
  s.egress = Egress(link.bandwidth, link.format, link.buffer, f.queue);
  s.unreturned.assign(f.links.size() * kChannels, 0);
  return s;
}

std::string SwitchOutput::waiting_for() const {
  return describe_waiting(state().egress.queued());
}

auto SwitchOutput::departure(Cx& cx) const {
  auto const& f = spec().fabric;
  return departure_over(f.links[spec().link], packet_out, cx, [&f, this, &cx](Packet const& p, Time done) {
    return_credit(f, credit_out, cx.state().unreturned, p, done, cx);
  });
}

void SwitchOutput::on_packet(Packet const& m, Cx& cx) const {
  cx.state().egress.send(m, 0, cx.now(), departure(cx));
}

void SwitchOutput::on_credit(Credit const& m, Cx& cx) const {
  auto& egress = cx.state().egress;
  egress.add_credits(static_cast<Channel>(m.channel), m.bytes);
  egress.transmit(cx.now(), departure(cx));
}

// ---- FabricPort

FabricPort::FabricPort(Slot<PortSpec> slot) : Component(std::move(slot)) {
  for (std::size_t i = 0; i < spec().fabric.links.size(); ++i) {
    packet_out.push_back(out<Packet>("packet_out" + std::to_string(i)));
    credit_out.push_back(out<Credit>("credit_out" + std::to_string(i)));
  }
}

PortState FabricPort::initial() const {
  auto const& p = spec();
  PortState s;
  for (auto const& link : p.fabric.links)
    s.egress.emplace_back(link.bandwidth, link.format, link.buffer, p.fabric.queue);
  s.unreturned.assign(p.fabric.links.size() * kChannels, 0);
  // Sources start with different links.
  for (std::uint32_t i = 0; i < 2 * p.fabric.route->nodes(); ++i)
    s.next_flow.push_back(RouteTable::route_hash(p.fabric.node, i, 0));
  s.sent.resize(p.fabric.route->nodes());
  s.free_outbound = FreeNumbers(p.outbound);
  s.free_inbound = FreeNumbers(p.inbound);
  s.free_lines = p.inbound;
  s.slice_credits.assign(p.slices, p.memory_credits);
  s.held = Ring<Packet>(p.fabric.passing);
  if (p.counts_accesses()) s.counters = AccessCounters(p.counters, p.fabric.route->nodes());
  return s;
}

std::string FabricPort::waiting_for() const {
  auto const& s = state();
  auto const out = s.free_outbound.taken();
  auto const inside = s.free_inbound.taken();
  auto text = describe_waiting(s.queued());
  if (out != 0) text += (text.empty() ? "" : ", ") + std::to_string(out) + " remote accesses outstanding";
  if (inside != 0)
    text += (text.empty() ? "" : ", ") + std::to_string(inside) + " accesses by other devices in service";
  return text;
}

bool FabricPort::settle(PortState& s, Time at) const {
  bool waits = false;
  for (auto& e : s.egress) waits = e.settle(at) || waits;
  return waits;
}

void FabricPort::send(Packet const& p, Cx& cx) const {
  auto const lines = p.train().lines();
  auto& sent = cx.state().sent[p.route.destination];
  sent.packets += lines;
  sent.bytes += std::uint64_t{p.route.payload} * lines;
  enqueue(p, has_lines(p.route.kind) ? kData : kTranslations, cx);
}

auto FabricPort::departure(std::uint32_t link, Cx& cx) const {
  return departure_over(spec().fabric.links[link], packet_out[link], cx,
                        [this, &cx](Packet const& p, Time done) {
                          if (p.route.source != spec().fabric.node)
                            release_buffer(p, done, cx);
                          else if (p.is<RemoteResponse>())
                            cx.state().queued_responses -= p.train().lines();
                        });
}

void FabricPort::enqueue(Packet p, std::size_t client, Cx& cx) const {
  auto const step = spec().fabric.route->next(p.route);
  FF_CHECK(step.link < spec().fabric.links.size(), path() + ": no route for a packet");
  p.route.flow = step.flow;
  cx.state().egress[step.link].send(p, client, cx.now(), departure(step.link, cx));
}

void FabricPort::release_buffer(Packet const& packet, Time at, Cx& cx) const {
  return_credit(spec().fabric, credit_out, cx.state().unreturned, packet, at, cx);
}

void FabricPort::on_credit(Credit const& m, Cx& cx) const {
  auto& egress = cx.state().egress[m.link];
  egress.add_credits(static_cast<Channel>(m.channel), m.bytes);
  egress.transmit(cx.now(), departure(m.link, cx));
  serve_stalled(cx);
}

void FabricPort::serve_stalled(Cx& cx) const {
  auto& s = cx.state();
  while (!s.held.empty() && serve(s.held.front(), cx)) s.held.pop();
}

void FabricPort::on_packet(Packet const& m, Cx& cx) const {
  auto& s = cx.state();
  if (m.route.destination != spec().fabric.node) {
    enqueue(m, kData, cx);
    return;
  }
  if (m.is<RemoteRequest>()) {
    auto const lines = m.lines();
    (lines.access == Access::read ? s.stats.reads_received : s.stats.writes_received) +=
        lines.train().lines();
    if (!s.held.empty() || !serve(m, cx)) s.held.push(m);
    return;
  }
  if (m.is<TranslateRequest>() || m.is<IommuResponse>() || m.is<Replay>()) ++s.stats.translations_received;
  receive(m, cx);
  release_buffer(m, cx.now() + m.train().length(), cx);
}

bool FabricPort::serve(Packet const& m, Cx& cx) const {
  auto& s = cx.state();
  auto const request = m.as<RemoteRequest>();
  auto const& lines = request.lines;
  auto const train = lines.train();
  auto const slice = spec().memory.slice(offset_of(lines.address));
  // A line holds its entry until its response has departed, so that responses cannot overflow their queue.
  if (s.free_lines < s.queued_responses + train.lines() || s.slice_credits[slice] < train.lines())
    return false;
  auto const entry = s.free_inbound.take(s.inbound);
  s.free_lines -= train.lines();
  s.slice_credits[slice] -= train.lines();
  s.inbound[entry] = {.tag = request.tag,
                      .source = m.route.source,
                      .bytes = lines.bytes,
                      .lines = static_cast<std::uint8_t>(train.lines()),
                      .kind = lines.kind,
                      .since = cx.now()};
  cx.send(memory_request, slice,
          MemRequest{.address = lines.address,
                     .tag = entry,
                     .from = spec().memory_port,
                     .access = lines.access,
                     .bytes = lines.bytes,
                     .requester = request.requester(),
                     .train = train});
  release_buffer(m, cx.now() + train.length(), cx);
  return true;
}

void FabricPort::on_memory(MemResponse const& m, Cx& cx) const {
  auto& s = cx.state();
  auto const lines = m.train.lines();
  s.slice_credits[spec().memory.slice(offset_of(m.address))] += lines;
  auto& waiting = s.inbound[m.tag].lines;
  waiting = static_cast<std::uint8_t>(waiting - lines);
  auto const requester = s.inbound[m.tag];
  if (requester.lines == 0) s.free_inbound.give_back(m.tag);
  s.free_lines += lines;
  RemoteResponse response{
      .lines = {.address = m.address, .bytes = requester.bytes, .access = m.access, .kind = requester.kind},
      .tag = requester.tag,
      .found_by = m.found_by};
  response.lines.set_train(m.train);
  s.queued_responses += lines;
  post(response, requester.source, cx, pack_duration(stage_time(cx.now() - requester.since)));
  serve_stalled(cx);
}

template class Component<SwitchOutputSpec, SwitchOutputState>;

template class Component<PortSpec, PortState>;

}  // namespace farfault
