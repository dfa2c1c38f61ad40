// Explicit congestion notification (RFC 3168): negotiation, CE, ECE and CWR, and DCTCP's receiver.
#pragma once

#include "core/tcp/engine.hpp"
#include "core/tcp/output.hpp"

namespace lockstep::tcp::ecn {

// The ECN field: the lower two bits of a traffic class.
inline constexpr std::uint8_t field_mask = 0x03;
inline constexpr std::uint8_t ect0 = 0x02;
inline constexpr std::uint8_t ce = 0x03;

// The ECN flags of the peer's SYN or SYN-ACK, the first one and each retransmission.
void process_syn(const Config& config, Connection& c, wire::Flags flags);
void process_syn_again(Connection& c, wire::Flags flags);
// The ECN flags of our SYN or SYN-ACK that is sent now.
wire::Flags syn_flags(const Config& config, Connection& c, bool retransmitted);

inline bool carries_new_data(const SegmentPlan& plan) {
  return plan.kind == PlanKind::data && !plan.data.empty() && !plan.retransmitted && !plan.probe &&
         !plan.syn;
}

// The traffic class of a planned segment: its DSCP, and ECT(0) or Not-ECT.
inline std::uint8_t traffic_class_of(const Connection& c, const SegmentPlan& plan) {
  auto const plain = static_cast<std::uint8_t>(c.dscp << 2);
  //= rfc3168#6.1.2
  //# 3168:ECN-6 ECT(0), as one codepoint is enough
  //= rfc3168#6.1.4
  //# 3168:ECN-11 not on a pure ACK
  //= rfc3168#6.1.5
  //# 3168:ECN-12 nor on a retransmission
  //= rfc3168#6.1.6
  //# 3168:ECN-13 nor on a window probe
  //= rfc3168#6.1.1
  //# 3168:ECN-4 nor on a SYN or SYN-ACK
  //= rfc3168#5.2
  //# 3168:ECN-30 the retransmission queue detects the loss of new data
  if (c.ecn.tx && carries_new_data(plan)) [[unlikely]] {
    return static_cast<std::uint8_t>(plain | ect0);
  }
  return plain;
}
// CWR, if it is pending and this segment may carry it.
wire::Flags cwr_flag(Connection& c, const SegmentPlan& plan);

// An acceptable segment with data arrived with this ECN field: starts or stops the echo; ACKs
// pending for earlier data stay separate. True if the ACK of this segment must not be delayed: call
// notify_ce() after its data is accepted.
bool process_field(Engine& e, Connection& c, std::uint8_t field, wire::Flags flags);
void notify_ce(Engine& e, Connection& c);

// Whether, after an ECE at the minimum window, new data must still wait although nothing is in
// flight.
inline bool holds_back(const Engine& e, const Connection& c, const InFlightState& a) {
  return c.ecn.tx && e.state->now < a.pace_at && c.congestion.cwnd.count <= c.mss;
}
// An acceptable ACK with ECE arrived; `newly`: octets that it acknowledges for the first time.
void process_ece(Engine& e, Connection& c, Bytes newly);

}  // namespace lockstep::tcp::ecn
