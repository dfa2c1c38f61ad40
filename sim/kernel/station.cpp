// Sends a station's frame on its link.
#include "sim/kernel/station.hpp"

#include <cstring>

namespace lockstep::sim {

void StationDesk::send(std::span<const std::byte> frame) {
  FrameId const id = world_.bus.frames().take();
  auto const room = world_.bus.frames().room(id);
  CHECK(!frame.empty());
  CHECK(frame.size() <= room.size());
  std::memcpy(room.data(), frame.data(), frame.size());
  world_.bus.frames().set_length(id, static_cast<std::uint32_t>(frame.size()));
  LaneId const lane = world_.bus.lane_from(node_);
  if (!world_.watch.empty()) {
    FrameNote const note{now_, node_, lane.value, frame};
    world_.watch.each(
        [&](Observer& observer, const Kernel& kernel) { observer.sent(kernel, note); });
  }
  ++sent_;
  world_.bus.send({now_, lane, id}, world_.schedule, world_.watch);
}

}  // namespace lockstep::sim
