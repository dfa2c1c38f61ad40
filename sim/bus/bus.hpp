// The bus: all lanes and switches of a world, and the frames in flight on them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units/random.hpp"
#include "sim/bus/frame_pool.hpp"
#include "sim/bus/icmp_error.hpp"
#include "sim/bus/lane.hpp"
#include "sim/bus/learning_switch.hpp"
#include "sim/kernel/observer.hpp"
#include "sim/kernel/world.hpp"
#include "sim/routers/plan.hpp"
#include "sim/schedule/schedule.hpp"

namespace lockstep::sim {

// Identifies a lane: twice the link's position; plus one for the reverse direction.
struct LaneId {
  std::uint32_t value = 0;
};

// A plain value except for the watch: a copy is a snapshot.
class Bus {
 public:
  // `root`: each rule of each lane forks its random stream from it, by the rule's name.
  Bus(const World& world, Random root);

  // The lane on which a host or station sends.
  LaneId lane_from(NodeRef node) const;
  Lane& lane(LaneId id) { return lanes_[id.value]; }
  const Lane& lane(LaneId id) const { return lanes_[id.value]; }
  std::uint32_t lane_count() const { return static_cast<std::uint32_t>(lanes_.size()); }
  // The lane in the other direction of the same link.
  static LaneId twin(LaneId id) { return {id.value ^ 1}; }
  // The node at the end of a lane.
  NodeRef end_of(LaneId id) const { return ends_[id.value]; }

  FramePool& frames() { return frames_; }
  const FramePool& frames() const { return frames_; }

  // Puts a frame on a lane. The bus owns the frame from then on, and adds its arrivals to
  // `schedule`.
  struct Sending {
    Instant now;
    LaneId lane;
    FrameId frame;
  };
  void send(const Sending& sending, Schedule& schedule, const Watch& watch);

  // Sends what the output of a lane can send now; schedules the next time.
  void run_output(const Sending& at, Schedule& schedule, const Watch& watch);
  // The frames that wait in all outputs.
  std::uint64_t frames_waiting() const;
  // The frames in the queue of a lane, for observers.
  std::uint32_t seen_waiting(LaneId id, Instant now) const;

  // Handles a frame that has arrived at a switch, at the end of its lane.
  void forward(Instant now, FrameId frame, Schedule& schedule, const Watch& watch);

  // Handles a frame that has arrived at a router.
  void route(Instant now, FrameId frame, Schedule& schedule, const Watch& watch);

  // Whether the frame has arrived from the wire at the port of a host with several shards; sets
  // `first` to the first shard. False if the frame is at a switch or is leaving the host.
  bool reaches_port(FrameId frame, HostIndex& first) const;
  // Sends that frame to the given shard; a NIC that replaces the port makes the choice.
  struct Steering {
    Instant now;
    FrameId frame;
    ShardId shard;
  };
  void steer(const Steering& steering, Schedule& schedule, const Watch& watch);

  // Drops the frame and frees it.
  void drop(Instant now, FrameId frame, LinkDrop reason, const Watch& watch);

  const LearningSwitch& switch_at(std::uint32_t index) const { return switches_[index].table; }

 private:
  struct Switch {
    LearningSwitch table;
    std::vector<LaneId> out;   // by port; the lane that leaves the switch
    std::uint32_t shards = 0;  // as in SwitchSpec
    Probability missteer{};
    Random dice{};
  };

  struct Router {
    RouterTable table;
    std::vector<RouterPort> ports;
    std::vector<LaneId> out;  // by port
    // ICMP errors since an instant: at most 100 in 100 ms (RFC 1812 4.3.2.8, RFC 4443 2.4).
    Instant errors_from{0};
    std::uint32_t errors = 0;
  };

  void refuse(Instant now, FrameId frame, LinkDrop why, IcmpErrorAbout about, Schedule& schedule,
              const Watch& watch);
  void answer_arp(const Sending& back, const RouterPort& in, Schedule& schedule,
                  const Watch& watch);
  bool may_send_error(Router& at, Instant now) const;
  void forward_at_port(Instant now, FrameId frame, Schedule& schedule, const Watch& watch);

  void enqueue(const Sending& sending, Schedule& schedule, const Watch& watch);
  void put_under_way(const Sending& sending, const Arrivals& arrivals, Schedule& schedule);
  void drop_lost(const Sending& at, const Watch& watch);
  void answer_too_big(const Sending& sending, Schedule& schedule);
  void note_drop(const Sending& sending, LinkDrop reason, const Watch& watch) const;

  std::vector<Lane> lanes_;
  std::vector<NodeRef> ends_;
  std::vector<std::uint32_t> ports_;  // by lane: the port of the switch at its end
  std::vector<LaneId> host_lanes_;
  std::vector<LaneId> station_lanes_;
  std::vector<Switch> switches_;
  std::vector<Router> routers_;
  FramePool frames_;
  std::vector<OutputQueue> outputs_;
  std::vector<std::uint32_t> output_of_;  // by lane; of a lane without an output 0
  LostPackets lost_;                      // empty between calls
};

}  // namespace lockstep::sim
