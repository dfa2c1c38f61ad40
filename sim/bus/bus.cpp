// The bus: sends, copies, switches and drops frames.
#include "sim/bus/bus.hpp"

#include "core/stack/shard.hpp"
#include "core/wire/ethernet.hpp"
#include "sim/bus/ecn_mark.hpp"
#include "sim/bus/too_big.hpp"
#include "sim/queues/flow_of.hpp"

namespace lockstep::sim {
namespace {

// The link header length of a world's frames: with a VLAN tag if any host sends one.
std::uint32_t ethernet_bytes_of(const World& world) {
  std::uint16_t vlan = 0;
  for (const HostSpec& host : world.hosts) {
    vlan = host.config.vlan != 0 ? host.config.vlan : vlan;
  }
  return wire::ethernet_bytes(vlan);
}

std::uint32_t header_bytes_of(const World& world, const LinkSpec& link) {
  bool const bare =
      link.a.kind == NodeKind::host && world.hosts[link.a.index].config.link == LinkType::ip;
  return bare ? 0 : ethernet_bytes_of(world);
}

std::uint32_t largest_frame(const World& world) {
  std::uint32_t mtu = 1'500;
  for (const HostSpec& host : world.hosts) {
    mtu = mtu > host.config.mtu.count ? mtu : host.config.mtu.count;
  }
  for (const StationSpec& station : world.stations) {
    mtu = mtu > station.mtu_bytes ? mtu : station.mtu_bytes;
  }
  // Of a world without hosts the links decide.
  for (std::size_t i = 0; world.hosts.empty() && i < world.links.size(); ++i) {
    std::uint32_t const link = world.links[i].forward.mtu_bytes;
    mtu = mtu > link ? mtu : link;
  }
  return mtu + ethernet_bytes_of(world);
}

}  // namespace

Bus::Bus(const World& world, Random root)
    : host_lanes_(world.hosts.size()),
      station_lanes_(world.stations.size()),
      frames_(largest_frame(world)) {
  ports_.resize(world.links.size() * 2);
  for (const SwitchSpec& spec : world.switches) {
    switches_.push_back({LearningSwitch(spec.addresses_max),
                         {},
                         spec.shards,
                         spec.missteer,
                         root.fork("steering").fork(spec.name.view())});
  }
  RoutingPlan const plan = world.routers.empty() ? RoutingPlan{} : plan_routes(world);
  for (std::size_t i = 0; i < world.routers.size(); ++i) {
    std::vector<LaneId> const out(world.routers[i].ports.size());
    routers_.push_back({plan.tables[i], world.routers[i].ports, out, Instant{0}, 0});
  }
  auto const add_lane = [&](const LinkSpec& link, const LaneSpec& spec, NodeRef from, NodeRef to) {
    LaneId const id{static_cast<std::uint32_t>(lanes_.size())};
    std::uint32_t const header = header_bytes_of(world, link);
    lanes_.emplace_back(spec, header);
    output_of_.push_back(static_cast<std::uint32_t>(outputs_.size()));
    if (!spec.output.plain()) {
      Random const own = root.fork("queue").fork(link.name.view());
      outputs_.emplace_back(spec.output,
                            OutputQueue::Line{{spec.rate_bits_per_second},
                                              spec.overhead_bytes,
                                              header,
                                              {spec.queue_packets, spec.queue_bytes}},
                            own.fork(id.value % 2 == 0 ? "forward" : "back"));
    }
    ends_.push_back(to);
    if (from.kind == NodeKind::host) {
      host_lanes_[from.index] = id;
    } else if (from.kind == NodeKind::station) {
      station_lanes_[from.index] = id;
    } else if (from.kind == NodeKind::router) {
      auto& router = routers_[from.index];
      for (std::uint32_t port = 0; port < router.ports.size(); ++port) {
        if (router.ports[port].link == id.value / 2 &&
            router.ports[port].at_a == (id.value % 2 == 0)) {
          ports_[twin(id).value] = port;
          router.out[port] = id;
        }
      }
    } else {
      auto& out = switches_[from.index].out;
      // Frames that arrive on this port travel on the other lane of the link.
      ports_[twin(id).value] = static_cast<std::uint32_t>(out.size());
      out.push_back(id);
    }
  };
  for (const LinkSpec& link : world.links) {
    add_lane(link, link.forward, link.a, link.b);
    add_lane(link, link.back, link.b, link.a);
  }
  for (const LaneFaultSpec& spec : world.lane_faults) {
    Random const stream = root.fork(spec.name.view()).fork(name_of(kind_of(spec.fault)));
    if (spec.forward) {
      lanes_[spec.link * 2].add(Rule(spec.fault, spec.active, stream.fork("forward")));
    }
    if (spec.back) {
      lanes_[spec.link * 2 + 1].add(Rule(spec.fault, spec.active, stream.fork("back")));
    }
  }
}

LaneId Bus::lane_from(NodeRef node) const {
  CHECK(node.kind == NodeKind::host || node.kind == NodeKind::station);
  return node.kind == NodeKind::host ? host_lanes_[node.index] : station_lanes_[node.index];
}

void Bus::send(const Sending& sending, Schedule& schedule, const Watch& watch) {
  Lane& on = lanes_[sending.lane.value];
  if (on.is_queued()) {
    enqueue(sending, schedule, watch);
    return;
  }
  Arrivals const arrivals = on.send(sending.now, frames_.bytes(sending.frame));
  if (arrivals.drop != LinkDrop::none) {
    note_drop(sending, arrivals.drop, watch);
    if (arrivals.drop == LinkDrop::mtu_exceeded && on.spec().answers_too_big) {
      answer_too_big(sending, schedule);
    }
    frames_.give(sending.frame);
    return;
  }
  frames_.set_lane(sending.frame, sending.lane.value);
  schedule.add(arrivals.at, {Kind::arrival, sending.frame.value, 0});
  if (arrivals.copied) {
    schedule.add(arrivals.copy_at, {Kind::arrival, frames_.copy(sending.frame).value, 0});
  }
}

void Bus::put_under_way(const Sending& sending, const Arrivals& arrivals, Schedule& schedule) {
  frames_.set_lane(sending.frame, sending.lane.value);
  schedule.add(arrivals.at, {Kind::arrival, sending.frame.value, 0});
  if (arrivals.copied) {
    schedule.add(arrivals.copy_at, {Kind::arrival, frames_.copy(sending.frame).value, 0});
  }
}

// Puts a frame into the output of its lane, and sends at once if the link is idle.
void Bus::enqueue(const Sending& sending, Schedule& schedule, const Watch& watch) {
  Lane& on = lanes_[sending.lane.value];
  if (LinkDrop const drop = on.offer(frames_.length(sending.frame)); drop != LinkDrop::none) {
    note_drop(sending, drop, watch);
    if (on.spec().answers_too_big) {
      answer_too_big(sending, schedule);
    }
    frames_.give(sending.frame);
    return;
  }
  OutputQueue& output = outputs_[output_of_[sending.lane.value]];
  FrameFlow const flow =
      flow_of(frames_.bytes(sending.frame), on.link_header_bytes(), {output.flow_key()});
  frames_.set_lane(sending.frame, sending.lane.value);
  output.enqueue(sending.now,
                 {sending.frame, frames_.length(sending.frame), flow.hash, flow.ect, false, {}},
                 lost_);
  drop_lost(sending, watch);
  on.note_waiting(output.waiting());
  if (output.due().is_never()) {
    run_output(sending, schedule, watch);
  }
}

void Bus::drop_lost(const Sending& at, const Watch& watch) {
  for (LostPacket const& each : lost_) {
    lanes_[at.lane.value].count(each.why);
    note_drop({at.now, at.lane, each.packet.frame}, each.why, watch);
    frames_.give(each.packet.frame);
  }
  lost_.clear();
}

void Bus::run_output(const Sending& at, Schedule& schedule, const Watch& watch) {
  Lane& on = lanes_[at.lane.value];
  OutputQueue& output = outputs_[output_of_[at.lane.value]];
  OutputQueue::Step step;
  do {
    step = output.step(at.now, lost_);
    drop_lost(at, watch);
    if (!step.sends) {
      continue;
    }
    Sending const sending{at.now, at.lane, step.packet.frame};
    if (step.packet.marked &&
        mark_congestion(frames_.bytes(sending.frame), on.link_header_bytes())) {
      on.count_marked();
    }
    Arrivals const arrivals = on.leave(step.left, frames_.bytes(sending.frame));
    if (arrivals.drop != LinkDrop::none) {
      note_drop(sending, arrivals.drop, watch);
      frames_.give(sending.frame);
    } else {
      put_under_way(sending, arrivals, schedule);
    }
  } while (step.sends && step.again <= at.now);
  output.set_due(step.again);
  if (!step.again.is_never()) {
    schedule.add(step.again, {Kind::output, at.lane.value, 0});
  }
}

std::uint64_t Bus::frames_waiting() const {
  std::uint64_t waiting = 0;
  for (OutputQueue const& output : outputs_) {
    waiting += output.waiting();
  }
  return waiting;
}

std::uint32_t Bus::seen_waiting(LaneId id, Instant now) const {
  Lane const& lane = lanes_[id.value];
  return lane.is_queued() ? outputs_[output_of_[id.value]].waiting() : lane.seen_waiting(now);
}

// The answer returns on the other lane of the link, bypassing the queue there.
void Bus::answer_too_big(const Sending& sending, Schedule& schedule) {
  Lane const& lane = lanes_[sending.lane.value];
  TooBig about;
  about.frame = frames_.bytes(sending.frame);
  about.link_header_bytes = lane.link_header_bytes();
  about.mtu_bytes = lane.spec().mtu_bytes;
  about.router.octets = {0x02,
                         0x01,
                         0,
                         0,
                         static_cast<std::uint8_t>(sending.lane.value >> 8),
                         static_cast<std::uint8_t>(sending.lane.value)};
  FrameId const answer = frames_.take();
  std::uint32_t const length = write_too_big(about, frames_.room(answer));
  frames_.set_length(answer, length);
  if (length == 0) {
    frames_.give(answer);
    return;
  }
  LaneId const back = twin(sending.lane);
  frames_.set_lane(answer, back.value);
  schedule.add(lanes_[back.value].answer(sending.now, length), {Kind::arrival, answer.value, 0});
}

void Bus::forward(Instant now, FrameId frame, Schedule& schedule, const Watch& watch) {
  LaneId const came{frames_.lane(frame)};
  Switch& at = switches_[ends_[came.value].index];
  if (at.shards != 0) {
    forward_at_port(now, frame, schedule, watch);
    return;
  }
  wire::EthernetFrame parsed;
  if (wire::parse(frames_.bytes(frame), parsed) != Drop::none || parsed.header.source.is_group()) {
    drop(now, frame, LinkDrop::switch_malformed, watch);
    return;
  }
  SwitchPort const in{ports_[came.value]};
  at.table.learn(parsed.header.source, in);
  SwitchPort const out = at.table.port_of(parsed.header.destination);
  if (out == in) {
    drop(now, frame, LinkDrop::switch_filtered, watch);
    return;
  }
  lanes_[came.value].count_delivered(frames_.length(frame));
  if (out != SwitchPort::everywhere()) {
    send({now, at.out[out.value], frame}, schedule, watch);
    return;
  }
  for (std::uint32_t port = 0; port < at.out.size(); ++port) {
    if (port != in.value) {
      send({now, at.out[port], frames_.copy(frame)}, schedule, watch);
    }
  }
  frames_.give(frame);
}

// The port of a host with several shards: frames from a shard go to the wire; frames from the wire
// go to the shard that owns them, or to another one by the missteer fault. Like a NIC, it gives a
// frame to one queue only; frames for all shards go to the first, which copies them.
void Bus::forward_at_port(Instant now, FrameId frame, Schedule& schedule, const Watch& watch) {
  LaneId const came{frames_.lane(frame)};
  Switch& at = switches_[ends_[came.value].index];
  if (ports_[came.value] != 0) {
    lanes_[came.value].count_delivered(frames_.length(frame));
    send({now, at.out[0], frame}, schedule, watch);
    return;
  }
  ShardId home = home_of(LinkType::ethernet, frames_.bytes(frame), {at.shards});
  if (home == ShardId::everyone()) {
    home = {0};
  } else if (at.missteer.per_billion != 0 && at.dice.chance(at.missteer)) {
    auto const step = static_cast<std::uint32_t>(1 + at.dice.below(at.shards - 1));
    home = {(home.value + step) % at.shards};
  }
  steer({now, frame, home}, schedule, watch);
}

bool Bus::reaches_port(FrameId frame, HostIndex& first) const {
  std::uint32_t const came = frames_.lane(frame);
  if (ends_[came].kind != NodeKind::learning_switch || ports_[came] != 0) {
    return false;
  }
  Switch const& at = switches_[ends_[came].index];
  if (at.shards == 0) {
    return false;
  }
  first = {ends_[at.out[1].value].index};
  return true;
}

void Bus::steer(const Steering& steering, Schedule& schedule, const Watch& watch) {
  LaneId const came{frames_.lane(steering.frame)};
  Switch const& at = switches_[ends_[came.value].index];
  lanes_[came.value].count_delivered(frames_.length(steering.frame));
  send({steering.now, at.out[1 + steering.shard.value], steering.frame}, schedule, watch);
}

void Bus::note_drop(const Sending& sending, LinkDrop reason, const Watch& watch) const {
  if (watch.empty()) {
    return;
  }
  FrameNote const note{sending.now, ends_[sending.lane.value], sending.lane.value,
                       frames_.bytes(sending.frame)};
  watch.each(
      [&](Observer& observer, const Kernel& kernel) { observer.dropped(kernel, note, reason); });
}

void Bus::drop(Instant now, FrameId frame, LinkDrop reason, const Watch& watch) {
  LaneId const on{frames_.lane(frame)};
  lanes_[on.value].count(reason);
  note_drop({now, on, frame}, reason, watch);
  frames_.give(frame);
}

}  // namespace lockstep::sim
