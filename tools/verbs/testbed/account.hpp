// Frames offered, delivered, lost and injected: by flow, and by cause.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lockstep::tools {

/// One direction of a connection, each end as ADDRESS:PORT.
struct Flow {
  std::string from, to;
  auto operator<=>(const Flow&) const = default;
};

using FramesByFlow = std::map<Flow, std::uint64_t>;

/// Frames that passed a counting point.
struct Tally {
  std::uint64_t frames = 0;  ///< all frames, including flows for which the table had no entry
  FramesByFlow flows;
  bool operator==(const Tally&) const = default;
};

/// A drop counter. Its frames are known by flow only if the counter has them by flow.
struct Cause {
  std::string name;
  std::uint64_t frames = 0;
  FramesByFlow flows;
  bool operator==(const Cause&) const = default;
};

/// All counters of a run.
struct Counted {
  struct Direction {
    std::string name;
    Tally offered, delivered;
    bool operator==(const Direction&) const = default;
  };
  std::vector<Direction> directions;
  std::vector<Cause> causes;
  std::string
      remainder;  ///< name for losses in no counter (a box of the user's); empty: there may be none
  bool operator==(const Counted&) const = default;
};

/// The balance of frames: offered + injected = delivered + lost.
struct FrameBalance {
  std::uint64_t offered = 0;
  std::uint64_t injected = 0;  ///< sent by the box, such as a reset
  std::uint64_t delivered = 0;
  std::uint64_t lost = 0;
};

struct FlowBalance {
  std::string direction;
  Flow flow = {};
  FrameBalance frames = {};
  std::vector<Cause> causes =
      {};                   ///< drop counters with frames of this flow (their `flows` are empty)
  std::uint64_t other = 0;  ///< lost without a counter by flow
};

struct Reconciled {
  struct Direction {
    std::string name;
    FrameBalance frames = {};
    std::uint64_t without_flow = 0;  ///< offered or delivered, but in no entry of a table
  };
  std::vector<Direction> directions;
  std::vector<FlowBalance> flows;
  std::vector<Cause> causes;      ///< that dropped frames; includes the remainder if it has a name
  std::uint64_t lost = 0;         ///< in all directions
  std::uint64_t explained = 0;    ///< in drop counters
  std::uint64_t unexplained = 0;  ///< in no drop counter
  std::uint64_t others = 0;       ///< frames in drop counters that belong to no flow
  /// A drop counter has more frames of a flow than the flow has lost.
  bool contradicted = false;

  bool holds() const { return unexplained == 0 && !contradicted && !has_strays(); }
  bool has_strays() const;
};

Reconciled reconcile(const Counted& counted);

}  // namespace lockstep::tools
