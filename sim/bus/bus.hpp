// The bus: every lane and switch of a world, and the frames that are under way on them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units/random.hpp"
#include "sim/bus/frame_pool.hpp"
#include "sim/bus/lane.hpp"
#include "sim/bus/learning_switch.hpp"
#include "sim/kernel/observer.hpp"
#include "sim/kernel/world.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep::sim {

// Names a lane: twice its link's position, one more on the way back.
struct LaneId {
  std::uint32_t value = 0;
};

// A plain value but for the watch: a copy is a snapshot.
class Bus {
 public:
  // `root`: each rule of each lane forks its stream from it by name.
  Bus(const World& world, Random root);

  // The lane by which a host or station sends.
  LaneId lane_from(NodeRef node) const;
  Lane& lane(LaneId id) { return lanes_[id.value]; }
  const Lane& lane(LaneId id) const { return lanes_[id.value]; }
  std::uint32_t lane_count() const { return static_cast<std::uint32_t>(lanes_.size()); }
  // Who is at the end of a lane.
  NodeRef end_of(LaneId id) const { return ends_[id.value]; }

  FramePool& frames() { return frames_; }
  const FramePool& frames() const { return frames_; }

  // Puts a frame on a lane: it is the bus's from now on. Its arrivals are added to `schedule`.
  struct Sending {
    Instant now;
    LaneId lane;
    FrameId frame;
  };
  void send(const Sending& sending, Schedule& schedule, const Watch& watch);

  // A frame has reached a switch, at the end of the lane that it travelled on.
  void forward(Instant now, FrameId frame, Schedule& schedule, const Watch& watch);

  // A frame has reached the port of a host of several shards from the wire: where the first of
  // these is. False: a switch, or a frame on its way out.
  bool reaches_port(FrameId frame, HostIndex& first) const;
  // ... and goes to this one of them, as a NIC has it that stands there instead.
  struct Steering {
    Instant now;
    FrameId frame;
    ShardId shard;
  };
  void steer(const Steering& steering, Schedule& schedule, const Watch& watch);

  // The frame dies here.
  void drop(Instant now, FrameId frame, LinkDrop reason, const Watch& watch);

  const LearningSwitch& switch_at(std::uint32_t index) const { return switches_[index].table; }

 private:
  struct Switch {
    LearningSwitch table;
    std::vector<LaneId> out;   // by port; the lane back is the other of its link
    std::uint32_t shards = 0;  // as SwitchSpec has it
    Probability missteer{};
    Random dice{};
  };

  void forward_at_port(Instant now, FrameId frame, Schedule& schedule, const Watch& watch);

  void answer_too_big(const Sending& sending, Schedule& schedule);
  void note_drop(const Sending& sending, LinkDrop reason, const Watch& watch) const;
  static LaneId twin(LaneId id) { return {id.value ^ 1}; }

  std::vector<Lane> lanes_;
  std::vector<NodeRef> ends_;
  std::vector<std::uint32_t> ports_;  // by lane: the port of the switch at its end
  std::vector<LaneId> host_lanes_;
  std::vector<LaneId> station_lanes_;
  std::vector<Switch> switches_;
  FramePool frames_;
};

}  // namespace lockstep::sim
