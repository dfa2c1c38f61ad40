// A receiver accepts data that fits, acknowledges it, and never withdraws an acknowledgment.
#include "sim/checkers/referee/judges.hpp"

namespace lockstep::sim::referee {
namespace {

namespace flag = wire::flag;

// A few duplicate ACKs without SACK may stem from an earlier loss or from duplicated packets.
constexpr std::uint32_t bare_least = 8;
constexpr std::uint32_t refused_least = 4;
constexpr Duration refused_time = Duration::seconds(3);

//= rfc9293#3.8
//# 9293:P-ACK-ALWAYS the acknowledgment number is RCV.NXT, which never decreases
void judge_regress(const Moment& m) {
  EndpointState& v = m.speaker;
  wire::Segment const& segment = m.segment();
  if (!segment.flags.ack() || segment.flags.any_of(flag::syn | flag::rst) ||
      !segment.options.has_timestamps) {
    return;
  }
  std::uint32_t const now = segment.options.timestamp_value;
  if (!v.ack_top_known || segment.acknowledgment.after(v.ack_top)) {
    v.ack_top_known = true;
    v.ack_top = segment.acknowledgment;
    v.ack_top_stamp = now;
  } else if (segment.acknowledgment.before(v.ack_top) &&
             tick(v.ack_top_stamp + paced_ticks).before(tick(now))) {
    m.judge.call_whole(m, Rule::ack_backward, Ambiguity::hidden,
                       {v.ack_top.value, segment.acknowledgment.value});
  }
}

//= rfc2018#4
//# 2018:SACK-4 a duplicate ACK reports the data above the gap
void judge_sack_reported(const Moment& m) {
  EndpointState& v = m.speaker;
  wire::Segment const& segment = m.segment();
  bool const pure = segment.flags.ack() && m.said.length().empty() && !segment.flags.rst();
  if (!pure) {
    return;
  }
  bool const agreed = plain_opening(m) && v.sack && m.other.openings[0].sack && !shares_window(m);
  // A window update is no duplicate ACK.
  bool const same = v.offered && segment.acknowledgment == v.last_ack &&
                    offer_of(m).at_or_before(v.edge) && segment.window.value != 0;
  bool const fits = m.other.sent.after(segment.acknowledgment) && m.other.sent.at_or_before(v.edge);
  if (!agreed || !same || !fits || segment.options.sack_count != 0) {
    v.bare = 0;
    v.bare_top = m.other.sent;
    return;
  }
  v.bare += m.other.sent.after(v.bare_top) ? 1 : 0;
  v.bare_top = m.other.sent;
  if (v.bare == bare_least) {
    m.judge.call_whole(m, Rule::sack_missing, Ambiguity::hidden, {1, 0});
  }
}

void judge_refusal(const Moment& m) {
  EndpointState& v = m.speaker;
  wire::Segment const& segment = m.segment();
  if (v.refused == 0 || !segment.flags.ack() || segment.flags.rst()) {
    return;
  }
  if (segment.acknowledgment.after(v.refused_begin) || segment.window.value == 0) {
    v.refused = v.refusals = 0;
    return;
  }
  ++v.refusals;
  //= rfc9293#3.10.7.4
  //# 9293:P-TEXT-ACK data at RCV.NXT that fits the window is accepted and acknowledged
  if (v.refused >= refused_least && v.refusals >= refused_least &&
      m.said.at.since(v.refused_at) > refused_time) {
    m.judge.call_whole(m, Rule::text_refused, Ambiguity::hidden,
                       {v.refused_begin.value, v.refused});
    v.refused = v.refusals = 0;
  }
}

}  // namespace

void judge_progress(const Moment& m) {
  judge_regress(m);
  judge_sack_reported(m);
  judge_refusal(m);
}

// Counts transmissions of the data at RCV.NXT, which fits any window that is not zero.
void hear_progress(const Moment& m) {
  EndpointState& other = m.other;
  wire::Segment const& segment = m.segment();
  bool const expected = other.offered && segment.sequence == other.last_ack &&
                        !other.last_window.empty() && !m.said.length().empty() &&
                        !segment.flags.any_of(flag::syn | flag::rst) && m.said.sum != Sum::bad;
  if (!expected) {
    return;
  }
  if (other.refused == 0 || other.refused_begin != segment.sequence) {
    other.refused = 0;
    other.refusals = 0;
    other.refused_begin = segment.sequence;
    other.refused_at = m.said.at;
  }
  ++other.refused;
}

}  // namespace lockstep::sim::referee
