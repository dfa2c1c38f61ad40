// Which blocks an ACK of ours reports: what lies above gaps, and what came twice (RFC 2018, 2883).
#pragma once

#include <array>

#include "core/tcp/engine.hpp"
#include "core/tcp/output.hpp"

namespace lockstep::tcp {

// The blocks of one ACK, the newest first; a duplicate's, if there is one, before all others.
struct Report {
  std::uint8_t count = 0;
  bool duplicate = false;
  std::array<wire::SackBlock, wire::sack_blocks_max> blocks;  // `count` of them are valid
};

// Octets of sequence space that came twice: told by the next ACK.
void note_duplicate(InFlightState& a, const Range& range);
// What of a segment's data has been received before: the first such part. To be called before the
// data is taken.
void find_duplicate(const Engine& e, const Connection& c, InFlightState& a,
                    const wire::Segment& segment);
// The ACK owed at `index` reports what there is to report now: that it leaves later, or together
// with others, changes nothing of it (law 8).
void attach_report(Engine& e, const Connection& c, InFlightState& a, Index index);
// The ACK owed will not leave as such: its duplicate is told by the next one.
void keep_duplicate(const Engine& e, InFlightState& a, Index index);

// What the planned segment reports. A duplicate is told once.
Report pop_sack_report(Engine& e, Connection& c, const Plan& plan);
// How many octets of data a segment that carries it holds: c.mss less the room of the report.
std::uint32_t eff_snd_mss_beside_sack(const Connection& c, const InFlightState& a);
// The most data that a segment may carry now.
//= rfc9293#3.7.1
//# 9293:P-MSS-OPTSHRINK options count against the MSS
inline std::uint32_t eff_snd_mss(const Connection& c, const InFlightState& a) {
  bool const reports = c.sack && (a.extents != nil || a.has_duplicate);
  return reports ? eff_snd_mss_beside_sack(c, a) : c.mss;
}

}  // namespace lockstep::tcp
