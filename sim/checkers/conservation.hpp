// Conservation: no frame, connection or pool slot is lost or appears from nowhere.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/bus/lane.hpp"
#include "sim/checkers/finding.hpp"
#include "sim/kernel/observer.hpp"

namespace lockstep::sim {

// Frame counts of one lane: frames that entered, and where they went.
struct LaneAccount {
  std::uint64_t offered = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t delivered = 0;
  std::uint64_t dropped = 0;  // the sum over all drop reasons

  std::uint64_t in() const { return offered + duplicated; }
  std::uint64_t out() const { return delivered + dropped; }
};
LaneAccount account_of(const LaneCounters& counters);

// Counts the frames that are sent, delivered and dropped, and at the end of the run compares its
// counts with the counters of the bus, the hosts and their stacks.
class ConservationChecker : public Observer {
 public:
  explicit ConservationChecker(Findings& findings) : findings_(findings) {}

  void sent(const Kernel& kernel, const FrameNote& note) override;
  void delivered(const Kernel& kernel, const FrameNote& note) override;
  void dropped(const Kernel& kernel, const FrameNote& note, LinkDrop reason) override;
  void ended(const Kernel& kernel) override;

  // Call at the end of the run: every connection that was opened is closed or still owned.
  struct Connections {
    std::uint64_t opened = 0;
    std::uint64_t closed = 0;
    std::uint64_t owned = 0;  // connection ends that the application models hold open
  };
  void judge_connections(const Kernel& kernel, HostIndex host, const Connections& seen);

 protected:
  // The bus's counters of this lane; tests override it to inject a wrong count.
  virtual LaneAccount booked(const Kernel& kernel, std::uint32_t lane) const;

 private:
  struct Node {
    std::uint64_t sent = 0;
    std::uint64_t delivered = 0;
  };
  void expect(const Kernel& kernel, Name where, std::string_view what, std::uint64_t expected,
              std::uint64_t found);
  void judge_lanes(const Kernel& kernel);
  void judge_host(const Kernel& kernel, HostIndex host);

  Findings& findings_;
  std::vector<Node> hosts_;
  std::vector<std::uint64_t> dropped_;  // by lane
};

}  // namespace lockstep::sim
