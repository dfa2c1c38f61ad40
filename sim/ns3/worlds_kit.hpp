// Records the frames that hosts send in our simulator and in ns-3, and compares them.
#pragma once

#include <gtest/gtest.h>
#include <ns3/packet.h>
#include <ns3/ptr.h>
#include <ns3/simulator.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <vector>

#include "sim/kernel/kernel.hpp"
#include "sim/worlds/build.hpp"

namespace ns3::testing {

struct Sighting {
  std::uint64_t ns = 0;
  std::uint32_t host = 0;
  std::vector<std::byte> bytes;
};

// Records what hosts send in our simulator.
class Recorder : public lockstep::sim::Observer {
 public:
  void sent(const lockstep::sim::Kernel&, const lockstep::sim::FrameNote& note) override {
    seen.push_back({note.at.ns, note.node.index, {note.bytes.begin(), note.bytes.end()}});
  }
  std::vector<Sighting> seen;
};

// Runs a world in our simulator whose link loses these frames on its forward lane; returns what
// hosts sent.
inline std::vector<Sighting> RunWorld(lockstep::sim::World world, std::uint32_t link,
                                      const std::list<std::uint32_t>& lost) {
  if (!lost.empty()) {
    lockstep::sim::Mask mask;
    for (auto const nth : lost) {
      mask.lose(nth);
    }
    world.lane_faults = {lockstep::sim::fault_of_link("mask", mask)};
    world.lane_faults[0].link = link;
    world.lane_faults[0].back = false;
  }
  lockstep::sim::Kernel kernel(world, 1);
  Recorder recorder;
  kernel.observe(recorder);
  EXPECT_EQ(kernel.run(), lockstep::sim::Ending::completed);
  return recorder.seen;
}

// Records the same in ns-3; connect it to a stack's trace Tx.
inline void NoteSighting(std::vector<Sighting>* seen, std::uint32_t host,
                         Ptr<const Packet> packet) {
  Sighting sighting{static_cast<std::uint64_t>(Simulator::Now().GetNanoSeconds()), host, {}};
  sighting.bytes.resize(packet->GetSize());
  packet->CopyData(reinterpret_cast<std::uint8_t*>(sighting.bytes.data()), packet->GetSize());
  seen->push_back(std::move(sighting));
}

inline std::vector<Sighting> OfHost(const std::vector<Sighting>& all, std::uint32_t host) {
  std::vector<Sighting> some;
  std::ranges::copy_if(all, std::back_inserter(some),
                       [&](const auto& each) { return each.host == host; });
  return some;
}

inline void ExpectAlike(const std::vector<Sighting>& in_ours,
                        const std::vector<Sighting>& in_theirs, std::uint32_t hosts = 2) {
  ASSERT_GT(in_ours.size(), 100u);
  for (std::uint32_t host = 0; host < hosts; ++host) {
    auto const ours = OfHost(in_ours, host);
    auto const theirs = OfHost(in_theirs, host);
    for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
      ASSERT_EQ(ours[i].ns, theirs[i].ns) << "host " << host << ", frame " << i;
      ASSERT_EQ(ours[i].bytes, theirs[i].bytes) << "host " << host << ", frame " << i;
    }
    EXPECT_EQ(ours.size(), theirs.size()) << "host " << host;
  }
}

}  // namespace ns3::testing
