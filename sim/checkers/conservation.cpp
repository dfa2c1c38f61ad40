// Compares the frame and connection counts at the end of a run.
#include "sim/checkers/conservation.hpp"

#include "core/stack/statistics.hpp"
#include "sim/kernel/kernel.hpp"

namespace lockstep::sim {

LaneAccount account_of(const LaneCounters& counters) {
  LaneAccount account{counters.frames_offered, counters.duplicated, counters.frames_delivered, 0};
  for (std::uint64_t each : counters.drops) {
    account.dropped += each;
  }
  return account;
}

LaneAccount ConservationChecker::booked(const Kernel& kernel, std::uint32_t lane) const {
  return account_of(kernel.bus().lane({lane}).counters());
}

void ConservationChecker::expect(const Kernel& kernel, Name where, std::string_view what,
                                 std::uint64_t expected, std::uint64_t found) {
  if (expected != found) {
    findings_.add({CheckerKind::conservation, kernel.now(), where, what, expected, found});
  }
}

void ConservationChecker::sent(const Kernel& kernel, const FrameNote& note) {
  hosts_.resize(kernel.host_count());
  if (note.node.kind == NodeKind::host) {
    ++hosts_[note.node.index].sent;
  }
}

void ConservationChecker::delivered(const Kernel& kernel, const FrameNote& note) {
  hosts_.resize(kernel.host_count());
  if (note.node.kind == NodeKind::host) {
    ++hosts_[note.node.index].delivered;
  }
}

void ConservationChecker::dropped(const Kernel& kernel, const FrameNote& note, LinkDrop) {
  dropped_.resize(kernel.bus().lane_count());
  ++dropped_[note.lane];
}

void ConservationChecker::judge_lanes(const Kernel& kernel) {
  dropped_.resize(kernel.bus().lane_count());
  std::uint64_t under_way = 0;
  for (std::uint32_t lane = 0; lane < kernel.bus().lane_count(); ++lane) {
    LaneAccount const account = booked(kernel, lane);
    Name const& name = kernel.world().links[lane / 2].name;
    if (account.out() > account.in()) {
      expect(kernel, name, "more frames left a lane than entered it", account.in(), account.out());
      continue;
    }
    under_way += account.in() - account.out();
    expect(kernel, name, "frames dropped on a lane without a notice", dropped_[lane],
           account.dropped);
  }
  std::uint64_t in_rings = 0;
  for (std::uint32_t i = 0; i < kernel.host_count(); ++i) {
    in_rings += kernel.host({i}).state().frames_held();
  }
  expect(kernel, kernel.world().name, "frames offered but neither delivered, dropped nor held",
         kernel.bus().frames().in_use(), under_way + in_rings);
}

void ConservationChecker::judge_host(const Kernel& kernel, HostIndex host) {
  Host const& at = kernel.host(host);
  Name const& name = at.spec().name;
  Node const& seen = hosts_[host.value];
  Statistics const& statistics = at.stack().statistics();
  NicLosses const lost = at.nic() == nullptr ? NicLosses{} : at.nic()->losses();
  expect(kernel, name, "frames that the stack sent and the wire did not carry",
         statistics.frames_sent, seen.sent + lost.out);
  // Shards take their frames in the turn in which these arrive: none is waiting and none is lost.
  std::uint64_t const on_the_way = at.spec().shards() == 1 ? at.frames_waiting() + lost.in : 0;
  expect(kernel, name, "frames delivered to the host and lost before its stack", seen.delivered,
         statistics.frames_received + on_the_way);
  std::uint64_t dropped = 0;
  for (std::uint32_t i = 0; i < drop_count; ++i) {
    dropped += statistics.drops.of(static_cast<Drop>(i));
  }
  // This counts a reply that did not fit in the queue, not a received frame.
  dropped -= statistics.drops.of(Drop::reply_queue_full);
  if (dropped > statistics.frames_received) {
    expect(kernel, name, "more frames were dropped than received", statistics.frames_received,
           dropped);
  }
}

void ConservationChecker::judge_connections(const Kernel& kernel, HostIndex host,
                                            const Connections& seen) {
  expect(kernel, kernel.host(host).spec().name, "connections opened, but neither closed nor owned",
         seen.opened, seen.closed + seen.owned);
}

void ConservationChecker::ended(const Kernel& kernel) {
  hosts_.resize(kernel.host_count());
  judge_lanes(kernel);
  for (std::uint32_t i = 0; i < kernel.host_count(); ++i) {
    judge_host(kernel, {i});
    // CHECKs that the slots in use of each pool are those that their owners hold.
    kernel.host({i}).stack().check_invariants();
  }
}

}  // namespace lockstep::sim
