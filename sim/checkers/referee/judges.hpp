// The judges, a group of rules each. Each looks at one segment and at what was said before it.
#pragma once

#include "sim/checkers/referee/referee.hpp"

namespace lockstep::sim::referee {

// Whether the segment is of another connection than the one that had these ports; `renew` forgets
// that one.
bool begins_anew(const Connection& c, const Sighting& said, std::uint32_t side);
void renew(Connection& c);
// Whether it may be of another, and nothing in the segment shows which.
bool may_be_another(const Connection& c, const Sighting& said);

// Whether a peer could read the segment: nobody hears what it cannot.
bool judge_alone(const Moment& m);
void judge_resets(const Moment& m);
// Numbers in the order of RfcChecker's rules: limits, ACK, blocks, edge, text.
void judge_numbers(const Moment& m);
void judge_octets(const Moment& m);
void judge_stamps(const Moment& m);
void judge_marks(const Moment& m);
void judge_time(const Moment& m);
void judge_amounts(const Moment& m);
// That a receiver takes what comes, says so, and never takes it back.
void judge_progress(const Moment& m);
// What is owed and does not come. Resets too.
void judge_silence(const Moment& m);
// The first number of a connection, before open() has it. `track`: of the source's address.
void judge_first_number(const Moment& m, FirstNumbers& track);

// Lets what `claim` says of a finding wait for what explains it or shows that nothing does.
void await(const Moment& m, const Claim& claim);
void settle_claims(const Moment& m);
// Notes that the capture has the segment long behind what its speaker said after it.
void hear_order(const Moment& m);
void end_claims(Connection& connection, Violations& violations);

// The right edge that the segment offers, by the widest reading of its scale.
Sequence offer_of(const Moment& m);

// What the segment changes, apart from what judges themselves note.
void hear_numbers(const Moment& m);
void hear_stamps(const Moment& m);
void hear_marks(const Moment& m);
void hear_time(const Moment& m);
void hear_silence(const Moment& m);
void hear_progress(const Moment& m);
// Its checksum is wrong as captured, but it may have been heard as it was before.
void hear_damaged(const Moment& m);

// Whether this one was certainly sent after what the speaker said with `ack`.
inline bool surely_after(const Moment& m, Sequence ack) {
  return m.own || (m.segment().flags.ack() && m.segment().acknowledgment.after(ack));
}

// Both sides' SYNs were seen, one of each.
inline bool plain_opening(const Moment& m) {
  return m.speaker.opening_count == 1 && m.other.opening_count == 1 && !m.speaker.openings_lost &&
         !m.other.openings_lost && !m.connection.reused;
}

// Why what rests on the whole connection is not certain.
inline Ambiguity ambiguity_of_middle(const Moment& m) {
  return m.speaker.middle || m.other.middle || m.connection.reused ? Ambiguity::middle
                                                                   : Ambiguity::none;
}

// The SYNs agreed on MPTCP, whose window is that of all subflows: what one of them says of it moves
// as the others' data arrives (RFC 8684, 3.3.1).
bool shares_window(const Moment& m);

// The SYNs agreed on ECN (RFC 3168).
bool speaks_ecn(const Moment& m);

// Timestamps lie on a circle as sequence numbers do.
constexpr Sequence tick(std::uint32_t stamp) { return {stamp}; }

}  // namespace lockstep::sim::referee
