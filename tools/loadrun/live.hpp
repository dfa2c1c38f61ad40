// The table that a load draws while it runs: a row a second.
#pragma once

#include <cstdint>
#include <string>

#include "core/seam/statistics.hpp"
#include "hw/port_counters.hpp"
#include "tools/load/client.hpp"

namespace lockstep::tools {

/// Everything that a row is made of, at one moment.
struct LoadMoment {
  Duration lasted;
  load::Counters counters;
  load::Times times;
  load::Gauges gauges;
  Statistics stack;
  hw::PortCounters port;
  std::uint32_t time_wait = 0;
  Duration processor;  ///< time of this thread's
};

/// The table's head, as two lines.
std::string live_head();
/// What changed since `before`, and what there is now.
std::string live_row(const LoadMoment& before, const LoadMoment& now);
/// Every reason for which a frame was lost since, by name, or empty.
std::string losses_text(const LoadMoment& before, const LoadMoment& now);

}  // namespace lockstep::tools
