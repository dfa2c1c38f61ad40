// The judges: each checks one segment against a group of rules and the segments before it.
#pragma once

#include "sim/checkers/referee/referee.hpp"

namespace lockstep::sim::referee {

// A packet may be recorded this much later than the reply to it: mirror ports buffer, and the
// queues of a NIC are read independently.
inline constexpr Duration recorded_late = Duration::milliseconds(20);
// A paced segment may carry the timestamp of its departure time, so a segment sent before it may
// have an older one. This many ticks are tolerated.
inline constexpr std::uint32_t paced_ticks = 64;
// Sequence numbers of one connection are not further apart.
inline constexpr std::int32_t near_most = 1 << 24;

// Whether both sides have sent a FIN, or one a reset.
bool is_over(const Connection& c);
// Whether the segment belongs to a new connection on the same ports; `renew` then resets the state.
bool begins_anew(const Connection& c, const Sighting& said, std::uint32_t side);
void renew(Connection& c);
// Whether it begins a later connection, in a capture that lacks nothing: a SYN, if this one is
// over. Else the answer to a SYN, if the initial sequence number of one of the two is that of this
// one, as after a restart of a host without a clock.
bool opens_again(const Connection& c, const Sighting& said, std::uint32_t side);
// Whether it repeats the SYN of a connection in use, as that of a host that has started again, or
// answers one after a silence.
bool asks_again(const Connection& c, const Sighting& said, std::uint32_t side);
// Whether it has the numbers with which a connection that has not ended goes on: its sequence
// number is the next one, or the one before as a keep-alive's, and it acknowledges all that the
// other sent.
bool goes_on(const Connection& c, const Sighting& said, std::uint32_t side);
// Whether it is a SYN of a later connection, whose answer was recorded before it.
bool is_answered_already(const Connection& c, const Sighting& said, std::uint32_t side);
// Whether the segment may belong to a new connection, but does not show it.
bool may_be_another(const Connection& c, const Sighting& said, std::uint32_t side);
bool goes_on_elsewhere(const Connection& c, const Sighting& said, std::uint32_t side);

// Judges the segment by itself. False if its receiver would drop it as malformed or damaged.
bool judge_alone(const Moment& m);
void judge_resets(const Moment& m);
// Sequence and acknowledgment numbers: MSS, ACK, SACK blocks, right edge, data.
void judge_numbers(const Moment& m);
void judge_octets(const Moment& m);
void judge_stamps(const Moment& m);
void judge_marks(const Moment& m);
void judge_time(const Moment& m);
void judge_amounts(const Moment& m);
// A receiver accepts data, acknowledges it, and never withdraws an acknowledgment.
void judge_progress(const Moment& m);
// Required segments that are missing or late. Called for resets too.
void judge_silence(const Moment& m);
// The ISS of a SYN; call it before begin(). `track`: the ISSs of the source's address.
void judge_first_number(const Moment& m, FirstNumbers& track);

// Keeps `claim` open until later segments explain or confirm its finding.
void await(const Moment& m, const Claim& claim);
void settle_claims(const Moment& m);
// Notes an acknowledgment, SACK block or echo of what was not seen; `place`: of its finding.
void note_unheard(const Moment& m, Claim::Kind kind, Sequence from, Sequence upto,
                  std::uint32_t place);
// Detects that the side takes back what it seems to have made up.
void note_taken_back(const Moment& m);
// Detects that the segment is recorded long after segments that its sender sent later.
void hear_order(const Moment& m);
// What is still open, and was recorded just before a packet of another connection: likely.
void doubt_early_claims(Connection& connection, Instant now, Violations& violations);
// What is still open: likely, unless the capture is whole.
void end_claims(const Terms& terms, Connection& connection, Violations& violations);

// The most data that a segment of the speaker may have, by the MSS of the other's SYN; whether that
// was seen.
Bytes full_size(const Moment& m);
bool knows_full_size(const Moment& m);

// The right edge that the segment offers, with the largest window scale that may apply.
Sequence offer_of(const Moment& m);

// Update the state of both sides after the judges.
void hear_numbers(const Moment& m);
void hear_stamps(const Moment& m);
void hear_marks(const Moment& m);
void hear_time(const Moment& m);
void hear_silence(const Moment& m);
void hear_progress(const Moment& m);
// Makes checksum findings about segments that this one acknowledges likely.
void forgive_checksums(const Moment& m);
// For a segment with a SYN in the middle of a connection: its data counts, its SYN does not.
void hear_stray(const Moment& m);
// For a segment whose checksum is wrong as captured, but which may have arrived intact.
void hear_damaged(const Moment& m);

// Whether the segment, or one before it, was overtaken: it acknowledges less than another one
// before it. A host's own queue may let some packets pass others, as ACKs without data, and of a
// packet that is recorded twice the first record may be missing.
inline bool overtaken(const Moment& m) {
  EndpointState const& v = m.speaker;
  return v.overtaken || (v.order_known && m.segment().flags.ack() &&
                         m.segment().acknowledgment.before(v.order_ack));
}

// Whether the segment was certainly sent after an earlier one with acknowledgment number `ack`.
inline bool surely_after(const Moment& m, Sequence ack) {
  bool const in_order = m.own && (m.terms.is_strict() || !overtaken(m));
  return in_order || (m.segment().flags.ack() && m.segment().acknowledgment.after(ack));
}

// Exactly one SYN of each side was seen, on ports not used before.
inline bool plain_opening(const Moment& m) {
  return m.speaker.opening_count == 1 && m.other.opening_count == 1 && !m.speaker.openings_lost &&
         !m.other.openings_lost && !m.connection.reused;
}

// Why a finding that depends on the whole connection is not certain.
inline Ambiguity ambiguity_of_middle(const Moment& m) {
  return m.speaker.middle || m.other.middle || m.connection.reused ? Ambiguity::middle
                                                                   : Ambiguity::none;
}

// The SYNs agreed on MPTCP, where all subflows share one window: the edge that one subflow
// advertises moves as data arrives on the others (RFC 8684, 3.3.1).
bool shares_window(const Moment& m);

// Whether only one of the two SYNs has a window scale: a firewall on the way may have taken it out
// of the other, whose sender believes that windows are scaled.
inline bool was_stripped(const Moment& m) {
  EndpointState const& v = m.speaker;
  EndpointState const& other = m.other;
  return !m.terms.is_strict() && !m.own && v.opening_count != 0 && other.opening_count != 0 &&
         v.openings[0].scaled != other.openings[0].scaled;
}

// Whether the fastest timestamp clock could have moved from the side's latest timestamp to `stamp`.
bool clock_may_reach(const Moment& m, const EndpointState& side, std::uint32_t stamp);

// The capture began so long before the other's first SYN in it that it would show an earlier one,
// and has no answer to an earlier one.
inline bool shows_first_syn(const Moment& m) {
  constexpr Duration longest_retry = Duration::seconds(64);
  return m.other.begun_at >= m.judge.began() + longest_retry &&
         (!m.speaker.begun || m.speaker.begun_at >= m.other.begun_at);
}

// Whether the other's window is closed. What it sends again, or is recorded late, tells no window.
inline bool seems_shut(const Moment& m) {
  EndpointState const& v = m.speaker;
  bool const last = m.other.last_window.empty() && m.other.last_ack == v.limit_ack;
  return v.limited && (v.limit == v.limit_ack || (m.other.offered && last));
}

// The SYNs agreed on ECN (RFC 3168).
bool speaks_ecn(const Moment& m);

// A timestamp as a Sequence: both wrap at 2^32 and compare alike.
constexpr Sequence tick(std::uint32_t stamp) { return {stamp}; }

}  // namespace lockstep::sim::referee
