// Resets: the sequence numbers that they may have, and that no reset replies to a reset.
#include <algorithm>

#include "sim/checkers/referee/judges.hpp"

namespace lockstep::sim::referee {
namespace {

bool among_own(const Moment& m) {
  EndpointState const& v = m.speaker;
  Sequence const at = m.segment().sequence;
  for (std::uint32_t i = 0; i < v.opening_count; ++i) {
    Opening const& opening = v.openings[i];
    if (opening.origin.previous().at_or_before(at) && at.at_or_before(opening.seen_end)) {
      return true;
    }
  }
  bool const middle = v.middle && at.at_or_before(v.sent);
  // A segment with a wrong checksum was sent as well.
  bool const spoiled = v.spoiled_count != 0 && at == v.spoiled_end;
  return middle || spoiled || (v.has_former && at.at_or_before(v.former));
}

bool answers_other(const Moment& m) {
  std::uint32_t const known = std::min(m.other.ack_count, EndpointState::acks_max);
  for (std::uint32_t i = 0; i < known; ++i) {
    if (m.other.acks[i] == m.segment().sequence) {
      return true;
    }
  }
  return false;
}

// Whether the host may have sent data up to the reset's number without a record of it: its own
// queue may drop packets before the place of the capture, the recorder or a filter others, and the
// connection may be older than the capture.
bool may_follow_unseen(const Moment& m) {
  if (m.terms.is_strict()) {
    return false;
  }
  std::int32_t const off = m.segment().sequence.distance_from(m.speaker.sent);
  bool const near = off > 0 && off <= near_most;
  bool const far = off > near_most || off < -near_most;
  return m.speaker.opening_count == 0 || near || (far && !m.terms.whole);
}

// Sequence numbers of one connection are not this far apart, so the reset belongs to another
// connection, of which the capture lacks the rest.
bool is_of_another(const Moment& m) {
  auto const is_far = [](const EndpointState& endpoint, Sequence number) {
    std::int32_t const off = number.distance_from(endpoint.sent);
    return endpoint.begun && (off > near_most || off < -near_most);
  };
  return !m.terms.whole && is_far(m.speaker, m.segment().sequence) &&
         (!m.segment().flags.ack() || is_far(m.other, m.segment().acknowledgment));
}

// A host that aborts a connection sends RST with ACK. A RST without ACK replies to the other's last
// segment.
void judge_answer(const Moment& m) {
  wire::Segment const& segment = m.segment();
  bool const bare = !segment.flags.ack() && m.speaker.resets == 0;
  bool const matches = !m.other.reset_acked || segment.sequence == m.other.reset_ack;
  // A host that has closed resets data that still arrives. If nothing but the RST has arrived, it
  // replies to the RST.
  bool const alone = !m.speaker.fin_sent || (m.own && !m.other.unheeded_words);
  if (bare && matches && alone) {
    m.judge.call_whole(m, Rule::reset_answers_reset, Ambiguity::order, {0, 1});
  }
}

}  // namespace

void judge_resets(const Moment& m) {
  wire::Segment const& segment = m.segment();
  // The expected number is unknown if segments counted as sent never left, or after too many SYNs.
  bool const unknown = m.speaker.openings_lost || (m.own && m.may.unsent && m.terms.whole);
  if (!segment.flags.rst() || unknown) {
    return;
  }
  bool const zero = segment.sequence.value == 0 && segment.flags.ack();
  bool const nobody = m.other.segments == 0;
  //= rfc9293#3.5.2
  //# 9293:P-RST-SEQ a reset's number is the other's SEG.ACK or the sender's SND.NXT
  if (!zero && !nobody && !among_own(m) && !answers_other(m)) {
    // Only the other's latest acknowledgment numbers are kept.
    bool const forgotten = m.other.ack_count > EndpointState::acks_max;
    bool const unseen = m.own && may_follow_unseen(m);
    Ambiguity const own = unseen && !m.terms.whole         ? Ambiguity::lost_packets
                          : m.own && !forgotten && !unseen ? Ambiguity::none
                                                           : Ambiguity::hidden;
    Ambiguity const ambiguity = is_of_another(m) ? Ambiguity::middle : own;
    m.judge.call_whole(m, Rule::reset_outside, ambiguity,
                       {m.speaker.sent.value, segment.sequence.value});
  }
  if (m.other.last_was_reset && m.speaker.begun && m.terms.likely) {
    judge_answer(m);
  }
  if (!m.other.last_was_reset || m.speaker.begun) {
    return;
  }
  bool const matches = m.other.reset_acked
                           ? segment.sequence == m.other.reset_ack
                           : segment.flags.ack() && segment.acknowledgment == m.other.reset_end;
  //= rfc9293#3.10.7.1
  //# 9293:P-CLOSED-RST without a connection a reset gets no reply
  if (matches && m.speaker.resets >= m.other.segments - m.other.resets) {
    // Without --whole the capture may lack data that the reset replies to.
    Ambiguity const own = m.terms.whole ? Ambiguity::none : Ambiguity::lost_packets;
    m.judge.call_whole(m, Rule::reset_answers_reset, m.own ? own : Ambiguity::order,
                       {m.other.segments - m.other.resets, m.speaker.resets + 1});
  }
}

}  // namespace lockstep::sim::referee
