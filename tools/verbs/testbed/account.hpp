// What was offered, what arrived, and what became of the difference: by flow, and by cause.
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

/// Frames that passed one place.
struct Tally {
  std::uint64_t frames = 0;  ///< counted beside the flows, which may find no room in their table
  FramesByFlow flows;
  bool operator==(const Tally&) const = default;
};

/// A way in which frames are lost; that of a flow is known only where the counter knows it.
struct Cause {
  std::string name;
  std::uint64_t frames = 0;
  FramesByFlow flows;
  bool operator==(const Cause&) const = default;
};

/// What was counted.
struct Counted {
  struct Direction {
    std::string name;
    Tally offered, delivered;
    bool operator==(const Direction&) const = default;
  };
  std::vector<Direction> directions;
  std::vector<Cause> causes;
  std::string remainder;  ///< what is lost by no counted cause; empty: nothing may be
  bool operator==(const Counted&) const = default;
};

/// What became of frames: offered + injected = delivered + lost.
struct FrameCounts {
  std::uint64_t offered = 0;
  std::uint64_t injected = 0;  ///< by the box: nobody had offered them
  std::uint64_t delivered = 0;
  std::uint64_t lost = 0;
};

struct FlowCounts {
  std::string direction;
  Flow flow = {};
  FrameCounts frames = {};
  std::vector<Cause> causes = {};  ///< that are known of this flow, without their flows
  std::uint64_t other = 0;         ///< lost by causes that do not know flows
};

struct Reconciled {
  struct Direction {
    std::string name;
    FrameCounts frames = {};
    std::uint64_t without_flow = 0;  ///< offered or delivered, but in no row of a table
  };
  std::vector<Direction> directions;
  std::vector<FlowCounts> flows;
  std::vector<Cause> causes;      ///< that took any, the remainder too if it has a name
  std::uint64_t lost = 0;         ///< of all directions
  std::uint64_t explained = 0;    ///< by causes
  std::uint64_t unexplained = 0;  ///< lost by no cause
  std::uint64_t others = 0;       ///< what causes counted of frames that are in no flow
  /// A flow has lost less than a cause has taken of it.
  bool contradicted = false;

  bool holds() const { return unexplained == 0 && !contradicted && !has_strays(); }
  bool has_strays() const;
};

Reconciled reconcile(const Counted& counted);

}  // namespace lockstep::tools
