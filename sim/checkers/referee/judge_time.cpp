// Time: retransmission timers and their backoff, SACK, the loss window, missing duplicate ACKs.
#include "sim/checkers/referee/judges.hpp"

namespace lockstep::sim::referee {
namespace {

// Without an ACK for this long the RTO of common stacks expires.
constexpr Duration silence = Duration::milliseconds(200);
constexpr Duration least_deployed = Duration::milliseconds(190);  // 200 ms less measuring error
constexpr Duration short_scheduling = Duration::milliseconds(50);
// An immediate ACK is seen within this time if the capture was taken at its sender.
constexpr Duration at_once = Duration::milliseconds(4);
// A longer RTO may have reached its maximum (RFC 6298, 2.5).
constexpr Duration timer_most = Duration::seconds(50);

bool selective(const Moment& m) {
  return m.speaker.middle || m.other.middle || (m.speaker.sack && m.other.sack);
}

// Whether the segment may be a zero-window probe or a keep-alive rather than a retransmission.
bool is_probe(const Moment& m) {
  bool const closed = m.other.offered && m.other.last_window.empty();
  return m.said.text().count <= 1 && !m.segment().flags.any_of(wire::flag::syn | wire::flag::fin)
             ? closed || m.speaker.limit_ack == m.speaker.sent
             : closed;
}

Sequence front_of(const EndpointState& v) { return v.limited ? v.limit_ack : v.iss; }

void judge_timer(const Moment& m, Duration gap) {
  EndpointState& v = m.speaker;
  // With SACK the last segment may be sent as a tail loss probe after two round trips.
  bool const may_probe = selective(m) && m.said.end() == v.sent && !m.segment().flags.syn();
  // A segment received since may have caused it, and data of a SYN may be retransmitted at once.
  bool const prompted = v.any_arrived && v.last_arrival_at > v.front_at;
  bool const early = v.early && !v.is_old() && front_of(v).at_or_before(v.early_end);
  // A tail loss probe is sent once, and not before the other could have replied.
  bool const probe =
      may_probe && v.repeats == 0 && !(m.connection.round_known && gap < m.connection.round);
  bool const first = (v.repeats == 0 || (v.repeats == 1 && v.probed)) && !prompted && !early;
  v.probed = v.repeats == 0 && may_probe;
  // Deployed stacks use a minimum RTO of 200 ms.
  bool const deployed = gap >= least_deployed && m.terms.rto_min > silence;
  //= rfc6298#2
  //# 6298:RTO-4 the RTO is at least the minimum
  bool const recovers = v.gap_reported || (v.recovering && v.repeats == 0);
  if (first && !recovers && !probe && gap < m.terms.rto_min) {
    m.judge.call_whole(m, Rule::timeout_too_soon, deployed ? Ambiguity::choice : Ambiguity::hidden,
                       {m.terms.rto_min.ns, gap.ns});
  }
  //= rfc6298#5
  //# 6298:RTO-14 the RTO doubles each time it expires
  std::uint32_t const counted = may_probe ? 2 : 1;
  if (v.repeats >= counted && gap.ns * 10 < v.repeat_gap.ns * 17 && v.repeat_gap < timer_most) {
    m.judge.call_whole(m, Rule::timeout_not_doubled, Ambiguity::hidden,
                       {v.repeat_gap.ns * 2, gap.ns});
  }
  v.timed_out = gap >= silence && !may_probe && !v.gap_reported && !v.recovering;
}

// Keeps the SACK blocks of at least a round trip ago (of 4 ms ago at the sender itself), which have
// reached the sender by now.
void age_reports(const Moment& m, EndpointState& v) {
  Duration const age = v.own ? at_once : m.connection.round;
  if (m.connection.round_known && m.said.at.since(v.sacked_late_at) >= age) {
    v.sacked_before = v.sacked_late;
    v.sacked_late = v.sacked;
    v.sacked_late_at = m.said.at;
  }
}

//= rfc2018#5
//# 2018:SACK-18 SACKed data is not retransmitted unless the RTO has expired
void judge_sacked(const Moment& m) {
  EndpointState& v = m.speaker;
  Sequence const begin = m.said.text_begin();
  Sequence const end = begin + m.said.text();
  age_reports(m, v);
  if (m.said.text().count < 2 || !v.sacked_before.holds(begin, end) || !v.any_arrived) {
    return;
  }
  bool const timer = m.said.at.since(v.last_arrival_at) > silence || v.timed_out;
  if (!timer) {
    m.judge.call_whole(m, Rule::sacked_sent_again, Ambiguity::hidden, {begin.value, end.value});
  }
}

void judge_again(const Moment& m) {
  EndpointState& v = m.speaker;
  Sequence const front = front_of(v);
  Sequence const begin = m.segment().sequence;
  bool const holds_front = begin.at_or_before(front) && front.before(m.said.end());
  bool const again = v.begun && m.said.end().at_or_before(v.sent) && v.front_known;
  if (again && !is_probe(m)) {
    judge_sacked(m);
    if (holds_front) {
      Duration const gap = m.said.at.since(v.front_at);
      judge_timer(m, gap);
      v.repeat_gap = gap;
      ++v.repeats;
    }
    v.recovering = true;
    v.recover = v.sent;
  }
  if (holds_front || !v.front_known) {
    v.front_at = m.said.at;
    v.front_known = true;
  }
}

// More than a full-sized segment after an RTO, before an ACK arrives. Several small segments may
// share that window.
void judge_loss_window(const Moment& m) {
  EndpointState& v = m.speaker;
  Sequence const front = front_of(v);
  bool const follows = v.timed_out && m.said.text().count != 0 &&
                       m.said.at.since(v.front_at) < silence && m.segment().sequence.after(front);
  bool const fits = knows_full_size(m) && m.said.end().at_or_before(front + full_size(m));
  //= rfc5681#3.1
  //# 5681:CC-12 after a timeout the window is one segment
  if (follows && !fits) {
    v.timed_out = false;
    m.judge.call_whole(m, Rule::more_than_loss_window, Ambiguity::hidden, {1, 2});
  }
}

// Data above a gap requires an immediate ACK; after a round trip it is late.
void judge_duplicates_due(const Moment& m) {
  EndpointState& v = m.speaker;
  Duration const most = m.own ? at_once : m.connection.round + short_scheduling;
  bool const late = m.segment().flags.ack() && v.duplicates_due >= 3 && m.connection.round_known &&
                    m.said.at.since(v.duplicates_due_since) > most;
  //= rfc5681#3.2
  //# 5681:CC-14 out-of-order data causes an immediate duplicate ACK
  if (late) {
    v.duplicates_due = 0;
    m.judge.call_whole(m, Rule::duplicate_ack_missing, Ambiguity::hidden, {1, 0});
  }
}

void note_round(const Moment& m) {
  Connection& c = m.connection;
  wire::Flags const flags = m.segment().flags;
  bool const syn = flags.syn() && !flags.ack();
  if (syn) {
    c.round_known = c.round_known && c.syn_seen;
    c.syn_at = m.said.at;  // of the last copy
    c.syn_side = m.side;
    c.syn_seen = true;
  } else if (c.syn_seen && !c.round_known && flags.ack() && m.side == c.syn_side &&
             m.other.opening_count != 0) {
    c.round = m.said.at.since(c.syn_at);
    c.round_known = true;
  }
}

}  // namespace

void judge_time(const Moment& m) {
  judge_duplicates_due(m);
  if (m.said.length().empty()) {
    return;
  }
  judge_loss_window(m);
  judge_again(m);
}

// Updates what the other side learns from this segment.
void hear_time(const Moment& m) {
  wire::Segment const& segment = m.segment();
  EndpointState& other = m.other;
  note_round(m);
  if (segment.flags.rst()) {
    return;
  }
  other.any_arrived = true;
  other.last_arrival_at = m.said.at;
  other.repeats = 0;
  other.timed_out = false;
  if (segment.flags.ack()) {
    m.speaker.duplicates_due = 0;
    bool const moved = !other.moved_known || segment.acknowledgment.after(other.moved_to);
    if (moved) {
      other.moved_known = true;
      other.moved_to = segment.acknowledgment;
      other.gap_reported = false;
      other.duplicates = 0;
      other.front_at = later(other.front_at, m.said.at);
      other.sacked.forget_before(segment.acknowledgment);
      other.recovering = other.recovering && segment.acknowledgment.before(other.recover);
    } else if (m.said.length().empty() && other.sent.after(segment.acknowledgment)) {
      other.gap_reported = true;
      other.third_duplicate_at = ++other.duplicates == 3 ? m.said.at : other.third_duplicate_at;
    }
  }
  for (std::uint32_t i = 0; i < segment.options.sack_count; ++i) {
    wire::SackBlock const& block = segment.options.sack[i];
    other.gap_reported = true;
    if (block.begin.after(segment.acknowledgment) && block.end.after(block.begin) &&
        block.end.at_or_before(other.sent)) {
      other.sacked.add(block.begin, block.end.since(block.begin));
    }
  }
  age_reports(m, other);
  Sequence const known = other.offered ? other.last_ack : m.speaker.openings[0].origin;
  bool const above = m.speaker.opening_count == 1 && !m.said.text().empty() &&
                     m.said.text_begin().after(m.speaker.text.reach(known));
  if (above) {
    other.duplicates_due_since = other.duplicates_due == 0 ? m.said.at : other.duplicates_due_since;
    ++other.duplicates_due;
  }
}

}  // namespace lockstep::sim::referee
