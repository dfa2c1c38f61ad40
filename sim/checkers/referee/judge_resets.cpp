// Resets: which numbers one may have, and that none answers another.
#include <algorithm>

#include "sim/checkers/referee/judges.hpp"

namespace lockstep::sim::referee {
namespace {

bool among_own(const Moment& m) {
  EndpointState const& v = m.speaker;
  Sequence const at = m.segment().sequence;
  for (std::uint32_t i = 0; i < v.opening_count; ++i) {
    Opening const& opening = v.openings[i];
    if (opening.origin.previous().at_or_before(at) && at.at_or_before(opening.heard)) {
      return true;
    }
  }
  bool const middle = v.middle && at.at_or_before(v.sent);
  // What has a wrong checksum was sent all the same.
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

// Numbers of one connection are not so far apart: of the one that this resets the capture lacks the
// rest.
bool is_of_another(const Moment& m) {
  constexpr std::int32_t near_most = 1 << 24;
  auto const is_far = [](const EndpointState& endpoint, Sequence number) {
    std::int32_t const off = number.distance_from(endpoint.sent);
    return endpoint.begun && (off > near_most || off < -near_most);
  };
  return !m.terms.whole && is_far(m.speaker, m.segment().sequence) &&
         (!m.segment().flags.ack() || is_far(m.other, m.segment().acknowledgment));
}

// Who has a connection resets it with an ACK; a reset without one answers what the other said last.
void judge_answer(const Moment& m) {
  wire::Segment const& segment = m.segment();
  bool const bare = !segment.flags.ack() && m.speaker.resets == 0;
  bool const matches = !m.other.reset_acked || segment.sequence == m.other.reset_ack;
  // Who has closed resets what still comes; if that is nothing but the reset, it is this that it
  // answers.
  bool const alone = !m.speaker.fin_sent || (m.own && !m.other.unheeded_words);
  if (bare && matches && alone) {
    m.judge.call_whole(m, Rule::reset_answers_reset, Ambiguity::order, {0, 1});
  }
}

}  // namespace

void judge_resets(const Moment& m) {
  wire::Segment const& segment = m.segment();
  // What counts as sent and never left, or of whom too much was said, has no known number.
  bool const unknown = m.speaker.openings_lost || (m.own && m.may.unsent && m.terms.whole);
  if (!segment.flags.rst() || unknown) {
    return;
  }
  bool const zero = segment.sequence.value == 0 && segment.flags.ack();
  bool const nobody = m.other.segments == 0;
  //= rfc9293#3.5.2
  //# 9293:P-RST-SEQ a reset has the number that the other acknowledged, or the sender's next
  if (!zero && !nobody && !among_own(m) && !answers_other(m)) {
    // Of many numbers that the other acknowledged only the latest are kept.
    bool const forgotten = m.other.ack_count > EndpointState::acks_max;
    Ambiguity const own = m.own && !forgotten ? Ambiguity::none : Ambiguity::hidden;
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
  //# 9293:P-CLOSED-RST where there is no connection a reset draws no answer
  if (matches && m.speaker.resets >= m.other.segments - m.other.resets) {
    m.judge.call_whole(m, Rule::reset_answers_reset, m.own ? Ambiguity::none : Ambiguity::order,
                       {m.other.segments - m.other.resets, m.speaker.resets + 1});
  }
}

}  // namespace lockstep::sim::referee
