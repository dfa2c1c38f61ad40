// Finds out what a packet is, which connection it belongs to, and why it is sent.
#include "sim/kernel/trace.hpp"

#include <algorithm>

#include "core/internet/ipv6_input.hpp"
#include "core/stack/statistics.hpp"
#include "core/wire/arp.hpp"
#include "core/wire/ethernet.hpp"
#include "core/wire/ipv4.hpp"

namespace lockstep::sim {
namespace {

CaptureLink link_of(const World& world, NodeRef node) {
  bool const bare =
      node.kind == NodeKind::host && world.hosts[node.index].config.link == LinkType::ip;
  return bare ? CaptureLink::raw_ip : CaptureLink::ethernet;
}

std::string_view name_of_node(const World& world, NodeRef node) {
  return node.kind == NodeKind::host ? world.hosts[node.index].name.view()
                                     : world.stations[node.index].name.view();
}

// The TCP segment of a frame, or its other protocol.
struct Opened {
  bool is_tcp = false;
  std::string_view other;
  FourTuple tuple;  // as seen by the sender
  wire::Segment segment;
};

Opened opened(LinkType link, std::span<const std::byte> frame) {
  Opened out;
  std::span<const std::byte> packet = frame;
  if (link == LinkType::ethernet) {
    wire::EthernetFrame ethernet;
    if (wire::parse(frame, ethernet) != Drop::none) {
      out.other = "malformed";
      return out;
    }
    bool const ip = ethernet.header.type == wire::EtherType::ipv4 ||
                    ethernet.header.type == wire::EtherType::ipv6;
    if (!ip) {
      out.other = ethernet.header.type == wire::EtherType::arp ? "arp" : "not IP";
      return out;
    }
    packet = ethernet.payload;
  }
  wire::IpPacket ip;
  if (internet::read_packet(packet, ip) != Drop::none) {
    out.other = "malformed IP";
    return out;
  }
  if (ip.header.is_fragment()) {
    out.other = "fragment";
    return out;
  }
  if (ip.header.protocol != wire::IpProtocol::tcp ||
      wire::parse(ip.payload, out.segment) != Drop::none) {
    bool const icmp = ip.header.protocol == wire::IpProtocol::icmp ||
                      ip.header.protocol == wire::IpProtocol::icmpv6;
    out.other = icmp ? "icmp" : "not TCP";
    return out;
  }
  out.is_tcp = true;
  out.tuple = {{ip.header.source, out.segment.source},
               {ip.header.destination, out.segment.destination}};
  return out;
}

std::string_view kind_of(const wire::Segment& segment, bool again) {
  if (segment.flags.rst()) {
    return "reset";
  }
  if (segment.flags.syn()) {
    return segment.flags.ack() ? "syn-ack" : "syn";
  }
  bool const text = !segment.payload.empty();
  if (!text && !segment.flags.fin()) {
    return "ack";
  }
  if (again) {
    return text ? "retransmission" : "fin again";
  }
  return text ? (segment.flags.fin() ? "data and fin" : "data") : "fin";
}

}  // namespace

Trace::Trace(const World& world, ByteSink& sink)
    : writer_(sink),
      hosts_(static_cast<std::uint32_t>(world.hosts.size())),
      stations_(static_cast<std::uint32_t>(world.stations.size())),
      all_(true),
      causes_(world.hosts.size()) {
  for (std::uint32_t i = 0; i < hosts_; ++i) {
    writer_.interface(link_of(world, {NodeKind::host, i}), world.hosts[i].name.view());
  }
  for (std::uint32_t i = 0; i < stations_; ++i) {
    writer_.interface(CaptureLink::ethernet, world.stations[i].name.view());
  }
}

Trace::Trace(const World& world, ByteSink& sink, NodeRef only)
    : writer_(sink),
      hosts_(static_cast<std::uint32_t>(world.hosts.size())),
      stations_(static_cast<std::uint32_t>(world.stations.size())),
      all_(false),
      only_(only),
      causes_(world.hosts.size()) {
  writer_.interface(link_of(world, only), name_of_node(world, only));
}

std::uint32_t Trace::interface_of(NodeRef node) const {
  if (!all_) {
    return 0;
  }
  return node.kind == NodeKind::host ? node.index : hosts_ + node.index;
}

bool Trace::traced(NodeRef node) const { return all_ || node == only_; }

void Trace::turn_begins(const Kernel& kernel, HostIndex host) {
  if (!traced({NodeKind::host, host.value})) {
    return;
  }
  Cause& cause = causes_[host.value];
  cause.timers = kernel.host(host).stack().statistics().tcp.timers_fired;
  cause.event_told = false;
}

void Trace::on_event(const Kernel&, HostIndex host, const Event&) {
  causes_[host.value].event_told = true;
}

void Trace::turned(const Kernel&, HostIndex host, Outcome) {
  causes_[host.value].arrived = 0;
  causes_[host.value].arrived_segments = 0;
  causes_[host.value].arrived_data = 0;
}

void Trace::delivered(const Kernel& kernel, const FrameNote& note) {
  if (!traced(note.node)) {
    return;
  }
  if (note.node.kind == NodeKind::host) {
    Cause& cause = causes_[note.node.index];
    Opened const frame = opened(kernel.world().hosts[note.node.index].config.link, note.bytes);
    ++cause.arrived;
    cause.arrived_segments += frame.is_tcp ? 1 : 0;
    cause.arrived_data += frame.is_tcp && !frame.segment.payload.empty() ? 1 : 0;
  }
  Line comment;
  comment.add("arrived at ").add(name_of_node(kernel.world(), note.node));
  writer_.packet(
      {interface_of(note.node), note.at, CaptureWay::inbound, note.bytes, comment.view()});
}

void Trace::sent(const Kernel& kernel, const FrameNote& note) {
  if (!traced(note.node)) {
    return;
  }
  Line comment;
  comment.add(name_of_node(kernel.world(), note.node)).add(": ");
  if (note.node.kind == NodeKind::host) {
    describe(kernel, {note.node.index}, note.bytes, comment);
  } else {
    comment.add("made by hand");
  }
  writer_.packet(
      {interface_of(note.node), note.at, CaptureWay::outbound, note.bytes, comment.view()});
}

void Trace::describe(const Kernel& kernel, HostIndex host, std::span<const std::byte> frame,
                     Line& out) {
  Opened const content = opened(kernel.world().hosts[host.value].config.link, frame);
  if (content.is_tcp) {
    describe_segment(kernel, host, content.tuple, content.segment, out);
  } else {
    out.add(content.other);
  }
  describe_cause(kernel, host, out);
}

void Trace::describe_segment(const Kernel& kernel, HostIndex host, const FourTuple& tuple,
                             const wire::Segment& segment, Line& out) {
  Known* const known = find(kernel, host, tuple);
  bool again = false;
  if (known != nullptr) {
    // The frame is already written: this is the state of the connection after it.
    ConnectionInfo const info = kernel.host(host).stack().inspect(known->id);
    again = info.retransmissions != known->retransmissions;
    known->retransmissions = info.retransmissions;
    out.add(name_of(info.state)).add(" cwnd ").add(info.cwnd.count);
    out.add(" ssthresh ").add(info.ssthresh.count);
    out.add(" flight ").add(info.send.nxt.since(info.send.una).count);
    out.add(info.fast_recovery ? " in fast recovery" : "");
  } else {
    out.add(name_of(kernel.host(host).stack().state_of(tuple)));
  }
  out.add("; ").add(kind_of(segment, again));
}

void Trace::describe_cause(const Kernel& kernel, HostIndex host, Line& out) const {
  Cause const& cause = causes_[host.value];
  auto const& fired = kernel.host(host).stack().statistics().tcp.timers_fired;
  std::string_view joint = " on ";
  for (std::uint32_t i = 0; i < tcp::timer_kind_count; ++i) {
    if (fired[i] != cause.timers[i]) {
      out.add(joint).add("timer ").add(name_of(static_cast<tcp::TimerKind>(i)));
      joint = ", ";
    }
  }
  if (cause.arrived != 0) {
    out.add(joint).add(cause.arrived_data != 0       ? "arrival of data"
                       : cause.arrived_segments != 0 ? "arrival of ack"
                                                     : "arrival of a frame without a segment");
    joint = ", ";
  }
  if (cause.event_told && joint == " on ") {
    out.add(joint).add("application");
    joint = ", ";
  }
  if (joint == " on ") {
    out.add(" in turn");
  }
}

Trace::Known* Trace::find(const Kernel& kernel, HostIndex host, const FourTuple& tuple) {
  auto& known = causes_[host.value].known;
  auto const before = [](const Known& a, const FourTuple& b) { return a.tuple < b; };
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto const at = std::lower_bound(known.begin(), known.end(), tuple, before);
    if (at != known.end() && at->tuple == tuple) {
      ConnectionInfo const info = kernel.host(host).stack().inspect(at->id);
      if (info.exists && info.tuple == tuple) {
        return &*at;
      }
    }
    if (attempt == 0) {
      learn(kernel, host);
    }
  }
  return nullptr;
}

// Reads the connections that the host's models own; called only when one is not found.
void Trace::learn(const Kernel& kernel, HostIndex host) {
  Stack const& stack = kernel.host(host).stack();
  auto& known = causes_[host.value].known;
  std::vector<Known> fresh;
  for (const Routes::Route& route : kernel.host(host).state().routes.all()) {
    ConnectionInfo const info = stack.inspect(route.id);
    if (!info.exists) {
      continue;
    }
    Known each{info.tuple, route.id, 0};
    for (const Known& old : known) {
      each.retransmissions = old.id == route.id ? old.retransmissions : each.retransmissions;
    }
    fresh.push_back(each);
  }
  std::sort(fresh.begin(), fresh.end(),
            [](const Known& a, const Known& b) { return a.tuple < b.tuple; });
  known = fresh;
}

}  // namespace lockstep::sim
