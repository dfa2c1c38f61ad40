// Required segments that are missing or late: ACKs, resets, retransmissions, probes.
#include <algorithm>

#include "sim/checkers/referee/judges.hpp"

namespace lockstep::sim::referee {
namespace {

namespace flag = wire::flag;

constexpr Duration delayed_ack_most = Duration::milliseconds(500);
// The time that a host may need for an immediate reply.
constexpr Duration scheduling = Duration::milliseconds(100);
// Longer than any RTO that is not backed off.
constexpr Duration every_timer = Duration::seconds(5);
constexpr std::uint32_t storm_least = 64;
// Smaller segments do not belong to a bulk transfer.
constexpr std::uint32_t full_least = 500;
constexpr std::uint32_t stretched_least = 8;

Duration two_rounds(const Moment& m) { return m.connection.round * 2 + scheduling; }

// The same moment with the roles swapped: findings are about the receiver.
Moment about_other(const Moment& m) {
  return {m.said, m.other, m.speaker, m.connection, 1 - m.side,
          false,  m.may,   m.terms,   m.judge,      true};
}

//= rfc9293#3.10.7.3
//# 9293:P-SYNSENT-ACK in SYN-SENT an ACK that does not acknowledge the SYN gets a reset
void judge_syn_sent(const Moment& m) {
  EndpointState& v = m.speaker;
  wire::Flags const flags = m.segment().flags;
  if (flags.rst()) {
    v.reset_due = false;
  }
  if (v.reset_due && !flags.syn()) {
    v.reset_due = false;
    m.judge.call_whole(m, Rule::reset_missing, Ambiguity::hidden,
                       {v.iss.next().value, v.reset_due_for.value});
  }
}

void hear_syn_sent(const Moment& m) {
  wire::Segment const& segment = m.segment();
  EndpointState& other = m.other;
  bool const waits = other.opening_count == 1 && !other.middle && !other.openings[0].is_answer &&
                     other.sent == other.openings[0].seen_end && !other.offered;
  bool const wrong =
      segment.acknowledgment.at_or_before(other.iss) || segment.acknowledgment.after(other.sent);
  if (waits && wrong && segment.flags.syn() && segment.flags.ack() && !segment.flags.rst()) {
    other.reset_due = true;
    other.reset_due_for = segment.acknowledgment;
  }
}

//= rfc9293#3.10.7.4
//# 9293:P-RST-EST a reset with the expected number ends the connection
void judge_reset_heeded(const Moment& m) {
  EndpointState& v = m.speaker;
  bool const late =
      v.was_reset && m.connection.round_known && m.said.at.since(v.reset_at) > two_rounds(m);
  if (late && !m.segment().flags.any_of(flag::rst | flag::syn) && ++v.after_reset == 3) {
    m.judge.call_whole(m, Rule::reset_ignored, Ambiguity::hidden,
                       {v.last_ack.value, m.segment().sequence.value});
  }
}

// The delay of the ACK of a single segment, with no other segments in between.
void judge_delay(const Moment& m) {
  EndpointState& v = m.speaker;
  wire::Segment const& segment = m.segment();
  if (!v.ack_due || !segment.flags.ack() || segment.acknowledgment.before(v.ack_due_for)) {
    return;
  }
  v.ack_due = false;
  Duration const took = m.said.at.since(v.ack_due_at);
  //= rfc9293#3.8.6.3
  //# 9293:MUST-40 an ACK is delayed by less than half a second
  if (m.connection.round_known && took > delayed_ack_most + two_rounds(m)) {
    m.judge.call_whole(m, Rule::ack_delayed, Ambiguity::hidden, {delayed_ack_most.ns, took.ns});
  }
}

//= rfc5681#4.2
//# 5681:CC-27 at least every second full segment is acknowledged
void judge_stretched(const Moment& m) {
  EndpointState& v = m.speaker;
  bool const moves = m.segment().flags.ack() && v.full_waiting != 0 &&
                     m.segment().acknowledgment.after(v.last_ack);
  if (!moves) {
    return;
  }
  ++v.full_acks;
  v.stretched += v.full_waiting >= stretched_least ? 1 : 0;
  // Single cases are excused: ACKs get lost, and hardware joins segments that arrive.
  if (v.full_waiting >= stretched_least && v.stretched >= 3 && v.stretched * 2 > v.full_acks) {
    m.judge.call_whole(m, Rule::acks_too_few, Ambiguity::offload, {2, v.full_waiting});
  }
  v.full_waiting = 0;
}

// An upper bound on the ACKs for so many octets: they may be several segments of 512 or more.
std::uint32_t draws_of(std::uint32_t octets) { return 2 + octets / 512; }

std::uint32_t drawn_max(const EndpointState& sender, const EndpointState& other) {
  bool const flying = other.offered && sender.sent.after(other.last_ack);
  return 2 * storm_least + (flying ? draws_of(sender.sent.value - other.last_ack.value) : 0);
}

// Pure ACKs without cause: each segment that occupies sequence space or has an unexpected number
// may cause one.
void judge_storm(const Moment& m) {
  EndpointState& v = m.speaker;
  bool const pure = m.segment().flags.ack() && m.said.length().empty() && !m.segment().flags.rst();
  Sequence const edge = offer_of(m);
  bool const update = !v.offered || edge.after(v.storm_edge);
  v.storm_edge = update ? edge : v.storm_edge;
  v.drawn = std::min(v.drawn, drawn_max(m.other, v));
  if (!pure || update) {
    return;
  }
  // No segment causes an ACK of less than was acknowledged; but the path may reorder a few.
  Sequence const ack = m.segment().acknowledgment;
  if (m.other.moved_known && ack.before(m.other.moved_to)) {
    v.old_acks = ack == v.old_ack ? v.old_acks + 1 : 1;
    v.old_ack = ack;
    if (v.old_acks > storm_least) {
      m.judge.call_whole(m, Rule::too_many_acks, Ambiguity::lost_packets,
                         {storm_least, v.old_acks});
    }
  } else if (v.drawn != 0) {
    --v.drawn;
  } else if (++v.undrawn > storm_least) {
    m.judge.call_whole(m, Rule::too_many_acks, Ambiguity::lost_packets, {storm_least, v.undrawn});
  }
}

// Adds the ACKs that this segment may cause: data that hardware has joined causes several.
void hear_drawn(const Moment& m) {
  EndpointState& other = m.other;
  bool const expected = other.offered && m.segment().sequence == other.last_ack;
  std::uint32_t const octets = m.said.length().count;
  std::uint32_t const draws = octets != 0 ? draws_of(octets) : expected ? 0 : 1;
  other.drawn = std::min(other.drawn + draws, drawn_max(m.speaker, other));
  other.undrawn = draws != 0 ? 0 : other.undrawn;
}

//= rfc6298#5
//# 6298:RTO-9 unacknowledged data is retransmitted when the timer expires
//= rfc5681#3.2
//# 5681:CC-16 ... or after three duplicate ACKs
void judge_loss_heeded(const Moment& m) {
  EndpointState& v = m.speaker;
  bool const out =
      v.front_known && v.limited && v.limit_ack.before(v.sent) && v.limit_ack.after(v.iss);
  bool const again = !m.said.length().empty() && m.segment().sequence.at_or_before(v.limit_ack);
  bool const shut = m.other.last_window.empty();
  if (!out || again || shut || v.acks_ignored_reported || m.segment().flags.rst() ||
      !m.connection.round_known) {
    return;
  }
  Duration const since_dup = m.said.at.since(v.third_duplicate_at);
  bool const dups = v.duplicates >= 3 && v.front_at < v.third_duplicate_at &&
                    since_dup > Duration::seconds(1) + two_rounds(m);
  Duration const since = m.said.at.since(v.front_at);
  bool const timer = since > every_timer + v.repeat_gap * 4;
  if (dups || timer) {
    v.acks_ignored_reported = true;
    m.judge.call_whole(m, dups ? Rule::duplicate_acks_ignored : Rule::retransmission_missing,
                       Ambiguity::hidden, {v.limit_ack.value, v.sent.value});
  }
}

//= rfc3168#6.1.3
//# 3168:ECN-10 after CE every ACK has ECE until CWR arrives
void judge_echoed(const Moment& m) {
  EndpointState& v = m.speaker;
  wire::Flags const flags = m.segment().flags;
  bool const covers = v.ce_arrived && flags.ack() && !flags.any_of(flag::syn | flag::rst) &&
                      m.segment().acknowledgment.at_or_after(v.ce_end);
  if (covers) {
    v.ce_arrived = false;
    if (!flags.ece()) {
      m.judge.call_whole(m, Rule::ce_unechoed, Ambiguity::hidden, {1, 0});
    }
  }
}

void hear_mark(const Moment& m) {
  EndpointState& other = m.other;
  EndpointState& v = m.speaker;
  bool const fresh = !v.has_text || m.said.text_begin().at_or_after(v.text_top);
  v.text_top = m.said.text().empty() ? v.text_top : m.said.end();
  v.has_text = v.has_text || !m.said.text().empty();
  if (m.segment().flags.cwr()) {
    other.ce_arrived = false;
  }
  if (m.said.ecn == 3 && fresh && !m.said.text().empty() && speaks_ecn(m)) {
    other.ce_arrived = true;
    other.ce_end = m.said.end();
  }
}

//= rfc9293#3.10.7.4
//# 9293:P-ACCEPT-REPLY a segment that is not acceptable gets an ACK
void judge_unanswered(const Moment& m) {
  EndpointState& other = m.other;
  m.speaker.reply_due = false;
  bool const late = other.reply_due && m.connection.round_known &&
                    m.said.at.since(other.reply_due_at) > delayed_ack_most + two_rounds(m);
  if (late) {
    other.reply_due = false;
    m.judge.call_whole(about_other(m), Rule::reply_missing, Ambiguity::hidden,
                       {other.last_ack.value, other.reply_due_for.value});
  }
}

// The host that has to reply may send an unrelated segment first.
void judge_unanswered_by_itself(const Moment& m) {
  EndpointState& v = m.speaker;
  bool const late = v.reply_due && m.connection.round_known &&
                    m.said.at.since(v.reply_due_at) > delayed_ack_most + two_rounds(m);
  if (late) {
    m.judge.call_whole(m, Rule::reply_missing, Ambiguity::hidden,
                       {v.last_ack.value, v.reply_due_for.value});
  }
}

void hear_unacceptable(const Moment& m) {
  EndpointState& other = m.other;
  wire::Segment const& segment = m.segment();
  if (!other.offered || other.middle || m.speaker.middle || segment.flags.rst() || other.fin_sent ||
      m.speaker.fin_seen || other.was_reset || other.resets != 0) {
    return;
  }
  bool const old = !m.said.text().empty() && m.said.end().at_or_before(other.last_ack) &&
                   segment.sequence.after(m.speaker.iss);
  bool const established = other.sent.after(other.iss.next()) ||
                           (m.speaker.has_former && other.last_ack == m.speaker.former);
  bool const syn = segment.flags.syn() && !segment.flags.ack() && established;
  bool const future = segment.flags.ack() && !segment.flags.syn() &&
                      segment.acknowledgment.after(other.sent) && !m.connection.lossy;
  if ((old || syn || future) && !other.reply_due) {
    other.reply_due = true;
    other.reply_due_at = m.said.at;
    other.reply_due_for = segment.sequence;
  }
}

//= rfc9293#3.10.7.4
//# 9293:P-TEXT-ACK data that arrives is acknowledged, even if it arrived before
//= rfc9293#3.6.1
//# 9293:SHLD-3 ... or gets a reset if the application has closed
void judge_repeated(const Moment& m) {
  constexpr std::uint32_t least = 4;
  constexpr Duration least_time = Duration::seconds(3);
  m.speaker.unanswered = 0;
  EndpointState& other = m.other;
  Sequence const begin = m.segment().sequence;
  bool const again = !m.said.length().empty() && !m.segment().flags.any_of(flag::syn | flag::rst) &&
                     m.said.end().at_or_before(m.speaker.sent);
  bool const live = other.offered && other.resets == 0 && !other.was_reset && m.speaker.resets == 0;
  if (!again || !live) {
    return;
  }
  if (other.unanswered == 0 || begin.before(other.unanswered_begin)) {
    other.unanswered = 1;
    other.unanswered_begin = begin;
    other.unanswered_at = m.said.at;
  } else if (begin == other.unanswered_begin) {
    ++other.unanswered;
  }
  if (other.unanswered >= least && m.said.at.since(other.unanswered_at) > least_time) {
    bool const closed = other.fin_sent && !m.said.text().empty();
    m.judge.call_whole(about_other(m), closed ? Rule::closed_unanswered : Rule::text_unacknowledged,
                       Ambiguity::hidden, {begin.value, other.unanswered + 1});
    other.unanswered = 0;
  }
}

//= rfc9293#3.8.6.1
//# 9293:MUST-36 a zero window is probed
void judge_probed(const Moment& m) {
  EndpointState& v = m.speaker;
  bool const waited = v.unprobed && !m.said.text().empty() && m.segment().sequence == v.sent &&
                      m.connection.round_known && m.said.at.since(v.opened_at) < two_rounds(m);
  if (waited) {
    m.judge.call_whole(m, Rule::probe_missing, Ambiguity::hidden,
                       {every_timer.ns, v.opened_at.since(v.shut_at).ns});
  }
  v.unprobed = v.silent_since = false;
}

void hear_window(const Moment& m) {
  EndpointState& other = m.other;
  wire::Segment const& segment = m.segment();
  if (!segment.flags.ack() || segment.flags.any_of(flag::syn | flag::rst)) {
    return;
  }
  bool const shut = segment.window.value == 0;
  if (shut && !other.shut) {
    other.silent_since = segment.acknowledgment == other.sent;
    other.shut_at = m.said.at;
  }
  if (!shut && other.shut) {
    other.opened_at = m.said.at;
    other.unprobed = other.silent_since && m.said.at.since(other.shut_at) > every_timer;
  }
  other.shut = shut;
}

//= rfc9293#3.8.4
//# 9293:P-KA-PROBE a keep-alive has the number SND.NXT - 1
void judge_keep_alive(const Moment& m) {
  EndpointState& v = m.speaker;
  bool const idle = m.said.at.since(m.connection.last_at) > every_timer / 10;
  bool const beyond = v.begun && !v.middle && m.segment().sequence.after(v.sent) &&
                      m.said.text().count <= 1 && !m.segment().flags.any_of(flag::rst | flag::syn);
  if (idle && beyond) {
    m.judge.call_whole(m, Rule::keep_alive_beyond, Ambiguity::lost_packets,
                       {v.sent.value, m.segment().sequence.value});
  }
}

//= rfc9293#3.4.1
//# 9293:MUST-8 ISSs follow a clock, so they increase for the same ports
void judge_former(const Moment& m) {
  EndpointState const& v = m.speaker;
  wire::Segment const& segment = m.segment();
  if (segment.sequence == v.former_iss) {
    m.judge.call_whole(m, Rule::isn_repeated, Ambiguity::hidden, {0, segment.sequence.value});
    return;
  }
  bool const ticked = segment.options.has_timestamps && v.former_stamped &&
                      tick(v.former_stamp).before(tick(segment.options.timestamp_value));
  if (!segment.flags.ack() && !ticked && segment.sequence.before(v.former)) {
    m.judge.call_whole(m, Rule::isn_lower, Ambiguity::hidden,
                       {v.former.value, segment.sequence.value});
  }
}

}  // namespace

//= rfc6528#3
//# 6528:ISN-2 the offset that is added to the clock cannot be computed from outside
void judge_first_number(const Moment& m, FirstNumbers& track) {
  EndpointState const& v = m.speaker;
  if (v.opening_count != 0 || (v.begun && !v.middle)) {
    return;
  }
  if (v.has_former_iss) {
    judge_former(m);
    return;  // for the same ports the ISS may follow the clock alone
  }
  Sequence const now = m.segment().sequence;
  std::uint32_t const step = now.value - track.last.value;
  track.equal = track.count >= 2 && step == track.step ? track.equal + 1 : 0;
  if (track.equal >= 3) {
    m.judge.call_whole(m, Rule::isn_predictable, Ambiguity::hidden, {step, now.value});
  }
  track.step = step;
  track.last = now;
  ++track.count;
}

void judge_silence(const Moment& m) {
  judge_syn_sent(m);
  judge_unanswered_by_itself(m);
  judge_unanswered(m);
  judge_repeated(m);
  if (m.segment().flags.rst()) {
    return;
  }
  judge_reset_heeded(m);
  judge_delay(m);
  judge_stretched(m);
  judge_storm(m);
  judge_loss_heeded(m);
  judge_echoed(m);
  judge_keep_alive(m);
  judge_probed(m);
}

void hear_silence(const Moment& m) {
  EndpointState& other = m.other;
  wire::Segment const& segment = m.segment();
  hear_syn_sent(m);
  hear_drawn(m);
  hear_mark(m);
  hear_unacceptable(m);
  hear_window(m);
  m.speaker.unheeded_words = m.speaker.unheeded_words || !segment.flags.rst();
  other.unheeded_words = false;
  if (segment.flags.rst()) {
    bool const good = other.offered && segment.sequence == other.last_ack && !other.was_reset;
    other.was_reset = other.was_reset || good;
    other.reset_at = good ? m.said.at : other.reset_at;
    return;
  }
  std::uint32_t const text = m.said.text().count;
  bool const next = other.offered && segment.sequence.at_or_after(other.last_ack) &&
                    m.said.end() == m.speaker.sent;
  if (text != 0 && next && !other.ack_due && segment.sequence == other.last_ack) {
    other.ack_due = true;
    other.ack_due_for = m.said.end();
    other.ack_due_at = m.said.at;
  } else {
    other.ack_due = false;  // with several segments waiting, the delay of one cannot be measured
  }
  m.speaker.largest_text = std::max(m.speaker.largest_text, text);
  bool const full = text >= full_least && text == m.speaker.largest_text;
  other.full_waiting = text != 0 && !next ? 0 : other.full_waiting + (full ? 1 : 0);
}

}  // namespace lockstep::sim::referee
