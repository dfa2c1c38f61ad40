// The simulated port: its two rings, and the checksums that hardware would complete.
#include "sim/kernel/port.hpp"

#include "core/wire/checksum.hpp"
#include "sim/kernel/frame_hash.hpp"

namespace lockstep::sim {
namespace {

// Checksum offload as a NIC does it: the field holds the sum of the pseudo-header; adds everything
// from checksum_start and stores the complement, most significant octet first.
void complete_checksum(std::span<std::byte> frame, const Egress& egress) {
  auto const segment = frame.subspan(egress.checksum_start);
  std::uint16_t const checksum = wire::sum(segment).checksum();
  segment[egress.checksum_offset] = static_cast<std::byte>(checksum >> 8);
  segment[egress.checksum_offset + std::size_t{1}] = static_cast<std::byte>(checksum & 0xff);
}

}  // namespace

std::span<const Ingress> SimPort::receive() {
  HostState& state = turn_.host.state();
  auto const waiting = static_cast<std::uint32_t>(state.received.size());
  std::uint32_t const most = turn_.host.spec().port_burst();
  state.taken = waiting < most ? waiting : most;
  turn_.burst.clear();
  for (std::uint32_t i = 0; i < state.taken; ++i) {
    turn_.burst.push_back(
        {turn_.bus.frames().bytes(state.received[i]), Checksum::unknown, turn_.local_now});
  }
  return turn_.burst;
}

void SimPort::reclaim() {
  HostState& state = turn_.host.state();
  for (std::uint32_t i = 0; i < state.taken; ++i) {
    turn_.bus.frames().give(state.received[i]);
  }
  state.received.erase(state.received.begin(), state.received.begin() + state.taken);
  state.taken = 0;
}

std::span<std::byte> SimPort::claim() {
  HostState& state = turn_.host.state();
  Lane& lane = turn_.bus.lane(turn_.bus.lane_from({NodeKind::host, turn_.host.index().value}));
  if (lane.waiting(turn_.now) >= turn_.host.spec().transmit_ring ||
      turn_.host.ring_full(turn_.now)) {
    return {};
  }
  if (state.claimed == FrameId{}) {
    state.claimed = turn_.bus.frames().take();
  }
  return turn_.bus.frames().room(state.claimed);
}

void SimPort::commit(const Egress& egress) {
  HostState& state = turn_.host.state();
  CHECK(state.claimed != FrameId{});
  CHECK(egress.length != 0);
  FrameId const frame = state.claimed;
  state.claimed = FrameId{};
  FramePool& frames = turn_.bus.frames();
  frames.set_length(frame, egress.length);
  if (egress.checksum_offset != 0) {
    complete_checksum(frames.bytes(frame), egress);
  }
  put_on_link(turn_, frame, egress.length);
}

void put_on_link(const PortTurn& turn, FrameId frame, std::uint32_t length) {
  FramePool& frames = turn.bus.frames();
  frames.set_length(frame, length);
  ++turn.host.state().frames_sent;
  NodeRef const node{NodeKind::host, turn.host.index().value};
  LaneId const lane = turn.bus.lane_from(node);
  turn.frames_hash = frame_hash({turn.now, node.index, frames.bytes(frame)}, turn.frames_hash);
  if (!turn.watch.empty()) {
    FrameNote const note{turn.now, node, lane.value, frames.bytes(frame)};
    turn.watch.each([&](Observer& observer, const Kernel& kernel) { observer.sent(kernel, note); });
  }
  turn.bus.send({turn.now, lane, frame}, turn.schedule, turn.watch);
}

}  // namespace lockstep::sim
