// Forwards frames between shards: copies them onto the lane from the port to the other shard.
#include "sim/kernel/shard_port.hpp"

#include <algorithm>

#include "core/stack/shard.hpp"

namespace lockstep::sim {

bool Siblings::theirs() const {
  HostState const& state = turn_.host.state();
  bool const single = turn_.host.spec().config.burst_frames.value == 1;
  return single && state.given_next && !state.given.empty();
}

std::span<const Ingress> Siblings::sort(std::span<const Ingress> from_port) {
  HostSpec const& spec = turn_.host.spec();
  HostState& state = turn_.host.state();
  ShardId const self{spec.config.tcp.shard.value};
  turn_.sorted.clear();
  for (const Ingress& frame : from_port) {
    ShardId const home = home_of(spec.config.link, frame.bytes, {spec.shards()});
    if (home == self) {
      keep(frame);
    } else if (home != ShardId::everyone()) {
      hand(frame, home);
      ++state.frames_forwarded;
    } else {
      keep(frame);
      for (std::uint32_t to = 0; to < spec.shards(); ++to) {
        if (to != self.value) {
          hand(frame, {to});
          ++state.frames_announced;
        }
      }
    }
  }
  auto const room = static_cast<std::size_t>(spec.config.burst_frames.value) - turn_.sorted.size();
  state.given_taken = static_cast<std::uint32_t>(std::min(room, state.given.size()));
  for (std::uint32_t i = 0; i < state.given_taken; ++i) {
    keep({turn_.bus.frames().bytes(state.given[i]), Checksum::unknown, turn_.local_now});
  }
  state.given_next = state.given_taken == 0;
  return turn_.sorted;
}

void Siblings::reclaim() {
  HostState& state = turn_.host.state();
  for (std::uint32_t i = 0; i < state.given_taken; ++i) {
    turn_.bus.frames().give(state.given[i]);
  }
  state.given.erase(state.given.begin(), state.given.begin() + state.given_taken);
  state.given_taken = 0;
}

void Siblings::keep(const Ingress& frame) {
  turn_.sorted.push_back(frame);
  ++turn_.host.state().frames_received;
  if (turn_.watch.empty()) {
    return;
  }
  NodeRef const node{NodeKind::host, turn_.host.index().value};
  FrameNote const note{turn_.now, node, turn_.bus.lane_from(node).value ^ 1u, frame.bytes};
  turn_.watch.each(
      [&](Observer& observer, const Kernel& kernel) { observer.delivered(kernel, note); });
}

void Siblings::hand(const Ingress& frame, ShardId to) {
  FramePool& frames = turn_.bus.frames();
  FrameId const copy = frames.take();
  frames.set_length(copy, static_cast<std::uint32_t>(frame.bytes.size()));
  std::copy(frame.bytes.begin(), frame.bytes.end(), frames.bytes(copy).begin());
  frames.set_handed(copy);
  // On the lane from the port to it, as if the port had sent it.
  NodeRef const sibling{NodeKind::host, turn_.host.spec().sibling(to).value};
  LaneId const lane{turn_.bus.lane_from(sibling).value ^ 1u};
  turn_.bus.send({turn_.now, lane, copy}, turn_.schedule, turn_.watch);
}

}  // namespace lockstep::sim
