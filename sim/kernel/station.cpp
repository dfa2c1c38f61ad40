// Sends a station's frame on its link.
#include "sim/kernel/station.hpp"

#include <cstring>

namespace lockstep::sim {

void StationDesk::send(std::span<const std::byte> frame) {
  FrameId const id = bus_.frames().take();
  auto const room = bus_.frames().room(id);
  CHECK(!frame.empty());
  CHECK(frame.size() <= room.size());
  std::memcpy(room.data(), frame.data(), frame.size());
  bus_.frames().set_length(id, static_cast<std::uint32_t>(frame.size()));
  LaneId const lane = bus_.lane_from(node_);
  if (!watch_.empty()) {
    FrameNote const note{now_, node_, lane.value, frame};
    watch_.each([&](Observer& observer, const Kernel& kernel) { observer.sent(kernel, note); });
  }
  ++sent_;
  bus_.send({now_, lane, id}, schedule_, watch_);
}

}  // namespace lockstep::sim
