// The SACK blocks that our ACKs report: data above gaps, and duplicates (RFC 2018, 2883).
#pragma once

#include <array>

#include "core/tcp/engine.hpp"
#include "core/tcp/output.hpp"

namespace lockstep::tcp {

// The blocks of one ACK, newest first; a D-SACK block, if any, precedes the others.
struct Report {
  std::uint8_t count = 0;
  bool duplicate = false;
  std::array<wire::SackBlock, wire::sack_blocks_max> blocks;  // `count` of them are valid
};

// Octets that were received twice: the next ACK reports them.
void note_duplicate(InFlightState& a, const Range& range);
// Finds the first part of a segment's data that was received before. Call it before the data is
// accepted.
void find_duplicate(const Engine& e, const Connection& c, InFlightState& a,
                    const wire::Segment& segment);
// Fixes the report of the pending ACK at `index` now, so that it does not depend on when the ACK is
// sent or on bursts (law 8).
void attach_report(Engine& e, const Connection& c, InFlightState& a, Index index);
// The pending ACK will not be sent as such: the next one reports its duplicate.
void keep_duplicate(const Engine& e, InFlightState& a, Index index);

// The report of the planned segment. A duplicate is reported once.
Report pop_sack_report(Engine& e, Connection& c, const SegmentPlan& plan);
// The most data that a segment with the report may carry: c.mss less the space of the report.
std::uint32_t eff_snd_mss_beside_sack(const Connection& c, const InFlightState& a);
// The most data that a segment may carry now.
//= rfc9293#3.7.1
//# 9293:P-MSS-OPTSHRINK options count against the MSS
inline std::uint32_t eff_snd_mss(const Connection& c, const InFlightState& a) {
  bool const reports = c.sack && (a.extents != nil || a.has_duplicate);
  return reports ? eff_snd_mss_beside_sack(c, a) : c.mss;
}

}  // namespace lockstep::tcp
