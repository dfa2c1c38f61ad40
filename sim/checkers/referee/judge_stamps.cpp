// Timestamps (RFC 7323): which segments have them, that they do not decrease, echoes, and PAWS.
#include <algorithm>

#include "sim/checkers/referee/judges.hpp"

namespace lockstep::sim::referee {
namespace {

// After this idle time TS.Recent is outdated (RFC 7323, 5.5).
constexpr Duration outdated_after = Duration::seconds(24 * 86'400);
// No clock advances by so many ticks between two segments that follow each other.
constexpr std::uint32_t leap_ticks = 1u << 26;
// Timestamps this far apart are compared only within this time, in which no clock of 1 us a tick
// moves by 2^31.
constexpr Duration comparable = Duration::seconds(1'000);
// Two seconds at 1 ms a tick: reordering does not delay packets this long.
constexpr std::uint32_t reordered_ticks = 2'000;
// 20 ms of a clock of 1 us a tick, the fastest one.
constexpr std::uint64_t slack_ticks = 20'000;

bool ever_stamped(const EndpointState& endpoint) {
  bool any = false;
  for (std::uint32_t i = 0; i < endpoint.opening_count; ++i) {
    any = any || endpoint.openings[i].stamped;
  }
  return any;
}

// How far a paced sender's clock may go back when it has closed: five seconds. Clocks tick every
// millisecond at the slowest; a faster one shows since its SYN.
std::uint64_t paced_close_ticks(const Moment& m) {
  constexpr std::uint64_t most_ms = 5'000, measured_least_ms = 100;
  EndpointState const& v = m.speaker;
  std::uint64_t const since_ms = m.said.at.since(v.stamp_first_at).ns / 1'000'000;
  bool const known = v.stamp_first_known && since_ms >= measured_least_ms;
  std::uint64_t const rate =
      known ? std::uint64_t{v.stamp_highest - v.stamp_first} / since_ms : 1;  // ticks in 1 ms
  return most_ms * std::clamp<std::uint64_t>(rate, 1, 1'000);
}

// Whether the SYN-ACK answers the SYN that was seen first, although the capture may have begun
// later than the connection: it echoes that SYN's timestamp, or a retransmission of an earlier SYN,
// which may have had more options, would have been seen. Its sender may have sent a SYN before,
// which was lost on its way to the capture point, unless it has the port of a service, from which
// nobody connects: the SYN-ACK of a simultaneous open repeats that SYN, and echoes the other's.
bool answers_first(const Moment& m) {
  constexpr std::uint16_t services_end = 1'024;
  wire::Options const& options = m.segment().options;
  bool const echoes = options.has_timestamps && m.other.stamp_first_known &&
                      m.other.stamp_first != 0 && options.timestamp_echo == m.other.stamp_first;
  bool const passive = m.said.source.port.value < services_end;
  return m.own || (passive && (m.terms.whole || echoes || shows_first_syn(m)));
}

// Whether the SYN-ACK acknowledges a SYN that was seen, and echoes no timestamp but one that was
// seen. If not, the capture may lack that SYN, which may have offered more than later ones.
bool acks_opening(const Moment& m) {
  Sequence const number = m.segment().acknowledgment;
  std::uint32_t const echo = m.segment().options.timestamp_echo;
  EndpointState const& v = m.other;
  bool const stamped =
      v.stamp_any && (echo == v.stamp_first || echo == v.stamp_latest || echo == v.stamp_highest);
  if (m.segment().options.has_timestamps && echo != 0 && !stamped && !m.terms.whole) {
    return false;
  }
  bool acks = false;
  for (std::uint32_t i = 0; i < m.other.opening_count; ++i) {
    Opening const& opening = m.other.openings[i];
    acks = acks || (opening.origin.at_or_before(number) && number.at_or_before(opening.seen_end));
  }
  return acks;
}

// A SYN-ACK has only options that the SYN offered. In a simultaneous open it may offer its own.
void judge_answer_stamps(const Moment& m) {
  wire::Options const& options = m.segment().options;
  EndpointState const& asked = m.other;
  bool const crossed = m.speaker.opening_count != 0 && !m.speaker.openings[0].is_answer;
  if (crossed) {
    // The other's SYN-ACK repeats the options of its SYN, which the capture may lack.
    m.judge.weaken_claim(m, asked.answer_place, Ambiguity::lost_packets);
  }
  if (asked.opening_count == 0 || asked.openings_lost || asked.middle || crossed) {
    return;
  }
  bool scaled = false;
  bool sack = false;
  for (std::uint32_t i = 0; i < asked.opening_count; ++i) {
    scaled = scaled || asked.openings[i].scaled;
    sack = sack || asked.openings[i].sack;
  }
  //= rfc7323#2.2
  //# 7323:TS-33 a SYN-ACK has a window scale only if the SYN had one
  //= rfc7323#3.2
  //# 7323:TS-39 ... and has a timestamp only if the SYN had one
  bool const scale_alone = options.has_window_scale && !scaled;
  bool const stamp_alone = options.has_timestamps && !ever_stamped(asked);
  // SACK-permitted says what its sender can receive, whatever the other side can (RFC 2018, 1).
  bool const sack_alone = options.has_sack_permitted && !sack;
  if (!scale_alone && !stamp_alone && !sack_alone) {
    return;
  }
  bool const asked_so = answers_first(m) && acks_opening(m);
  Ambiguity const why = asked_so ? Ambiguity::none : Ambiguity::lost_packets;
  if (scale_alone) {
    m.speaker.answer_place = m.judge.call_whole(m, Rule::option_unoffered, why, {0, 3});
  } else if (stamp_alone) {
    m.speaker.answer_place = m.judge.call_whole(m, Rule::stamp_unnegotiated, why, {0, 1});
  }
  // The SYN with that option is missing, so the options that follow are of that SYN, too.
  if (!asked_so) {
    m.judge.weaken_whole(m);
  }
}

void judge_presence(const Moment& m) {
  bool const has = m.segment().options.has_timestamps;
  EndpointState const& speaker = m.speaker;
  EndpointState const& other = m.other;
  if (!plain_opening(m) || speaker.has_former || other.has_former) {
    return;
  }
  Opening const& ours = speaker.openings[0];
  Opening const& theirs = other.openings[0];
  bool const both = ours.stamped && !ours.unstamped && theirs.stamped && !theirs.unstamped;
  //= rfc7323#3.2
  //# 7323:TS-9 once agreed on, every segment except a RST has a timestamp
  if (both && !has) {
    // A firewall behind the capture point may have taken the option out of one SYN.
    bool const agreed = speaker.stamp_known || m.own || m.terms.whole;
    m.judge.call_whole(m, Rule::stamp_missing, agreed ? Ambiguity::none : Ambiguity::middlebox,
                       {1, 0});
  }
  bool const answered = ours.is_answer != theirs.is_answer;
  //= rfc7323#3.2
  //# 7323:TS-39 no timestamp is sent to a peer whose SYN had none
  if (has && answered && !theirs.stamped) {
    m.judge.call_whole(m, Rule::stamp_unnegotiated, Ambiguity::none, {0, 1});
  }
}

// Notes a timestamp far from the one before it: that of another clock, as on both sides of a
// firewall that moves timestamps by a random constant.
void note_leap(const Moment& m) {
  EndpointState& v = m.speaker;
  std::uint32_t const now = m.segment().options.timestamp_value;
  std::uint32_t const step = std::min(now - v.stamp_latest, v.stamp_latest - now);
  bool const known = m.segment().options.has_timestamps && v.stamp_any && v.stamp_latest != 0;
  v.stamps_leap = v.stamps_leap || (known && step > leap_ticks);
}

void judge_clock(const Moment& m) {
  wire::Segment const& segment = m.segment();
  // The clocks of our own TCP take longer than any run to pass 2^31.
  bool const compared =
      m.terms.is_strict() || m.said.at.since(m.speaker.stamp_highest_at) < comparable;
  if (!segment.options.has_timestamps || !m.speaker.stamp_any || !compared) {
    return;
  }
  std::uint32_t const now = segment.options.timestamp_value;
  if (!m.speaker.stamp_known) {
    // The timestamp of a SYN-ACK may be a cookie, whose low bits put it slightly ahead of the
    // clock.
    bool const back = tick(now).before(tick(m.speaker.stamp_highest)) &&
                      m.speaker.stamp_highest - now >= reordered_ticks && plain_opening(m);
    if (back && m.speaker.begun) {
      m.judge.call_whole(m, Rule::stamp_backward, Ambiguity::order, {m.speaker.stamp_highest, now});
    }
    return;
  }
  //= rfc7323#4.1
  //# 7323:TS-13 the timestamp clock follows real time, so it does not go back
  // A segment with new data may have been sent before a retransmission that was captured first.
  bool const later = surely_after(m, m.speaker.stamp_ack);
  bool const seems_later = !m.said.text().empty() && segment.sequence.at_or_after(m.speaker.sent);
  bool const long_ago = m.speaker.stamp - now >= reordered_ticks;
  if (tick(now).before(tick(m.speaker.stamp)) && !later && (seems_later || long_ago)) {
    m.judge.call_whole(m, Rule::stamp_backward, Ambiguity::order, {m.speaker.stamp, now});
  }
  if (tick(now).before(tick(m.speaker.stamp)) && later) {
    // A paced segment may carry its departure time, so one that is sent at once may seem older.
    // Linux's ACKs carry that time, too, until the socket has become one of TIME-WAIT, whose ACKs
    // carry the present.
    bool const closed = m.speaker.fin_seen && m.said.text().empty();
    std::uint64_t const most = closed ? paced_close_ticks(m) : paced_ticks;
    bool const paced = !m.terms.is_strict() && m.speaker.stamp - now <= most;
    bool const other = !m.terms.whole && m.speaker.stamps_leap;
    m.judge.call_whole(m, Rule::stamp_backward,
                       paced   ? Ambiguity::hidden
                       : other ? Ambiguity::middlebox
                               : Ambiguity::none,
                       {m.speaker.stamp, now});
  }
}

// Whether the sender must have received timestamps after that of the SYN: it acknowledges data that
// was not in the SYN, and the SYN's timestamp is known.
bool echoes_data(const Moment& m) {
  wire::Segment const& segment = m.segment();
  EndpointState const& other = m.other;
  bool const agreed = plain_opening(m) && !m.speaker.has_former && !other.has_former &&
                      other.stamp_first_known && !other.early && !other.openings[0].unstamped;
  return agreed && segment.flags.ack() && !segment.flags.rst() &&
         (other.is_old() || segment.acknowledgment.after(other.iss.next()));
}

// Whether the other's clock may have reached the value by now, in a packet that the capture lacks.
// Its latest timestamp may be that of a packet that was recorded long after it was sent. No tick is
// shorter than 59 ns (RFC 7323, 5.4).
bool may_have_been_sent(const Moment& m, std::uint32_t stamp) {
  constexpr std::uint64_t shortest_tick_ns = 59;
  constexpr Duration on_its_way_most = Duration::seconds(3);
  Duration const since = m.said.at.since(m.other.stamp_highest_at) + on_its_way_most;
  return stamp - m.other.stamp_highest <= since.ns / shortest_tick_ns;
}

void judge_echo(const Moment& m) {
  wire::Segment const& segment = m.segment();
  std::uint32_t const echo = segment.options.timestamp_echo;
  bool const heard = segment.options.has_timestamps && segment.flags.ack() && m.other.stamp_any;
  bool const none = echo == 0 && (m.speaker.echo_known || !echoes_data(m));
  if (!heard || none || m.other.opening_count > 1 || m.other.has_former) {
    return;
  }
  //= rfc7323#3.2
  //# 7323:TS-11 an echoed timestamp was received
  if (tick(m.other.stamp_highest).before(tick(echo))) {
    std::uint32_t const place =
        m.judge.call_whole(m, Rule::echo_unheard, Ambiguity::none, {m.other.stamp_highest, echo});
    note_unheard(m, Claim::Kind::echo, tick(m.other.stamp_highest), tick(echo), place);
    // A claim is open only if the clock could have reached the value by now.
    if (may_have_been_sent(m, echo)) {
      await(m, {.kind = Claim::Kind::echo,
                .from = tick(m.other.stamp_highest),
                .upto = tick(echo),
                .place = place});
    }
  }
}

// Whether the first octet of the other side was seen. If not, a SYN that the capture lacks may have
// had it (Fast Open): then that SYN's timestamp stays TS.Recent, whatever a later SYN has.
bool shows_first_octet(const Moment& m) {
  Sequence const first = m.other.iss.next();
  return m.other.is_old() || m.other.text.holds(first, first.next());
}

// TS.Recent never decreases, and when data arrives in order it becomes the timestamp of that data.
// An ACK above that of an earlier echo was sent later, whatever the capture lacks.
void judge_old_echo(const Moment& m) {
  wire::Segment const& segment = m.segment();
  EndpointState const& v = m.speaker;
  EndpointState& other = m.other;
  // Another connection with the same ports may have begun with a SYN that the capture lacks.
  if (!segment.options.has_timestamps || !echoes_data(m) || other.stamps_leap) {
    return;
  }
  // Linux accepts a timestamp one tick older than TS.Recent, and a segment may carry the time of
  // its departure.
  std::uint32_t const grace = m.terms.is_strict() ? 0 : 1;
  std::uint32_t const paced = m.terms.is_strict() ? 0 : paced_ticks;
  std::uint32_t const echo = segment.options.timestamp_echo;
  // A host may lose TS.Recent, as one that restores a connection on another machine.
  bool const sent =
      !tick(echo).before(tick(v.echo)) && !tick(other.stamp_highest).before(tick(echo));
  // It does so in a segment that was sent after the other echo, and was not overtaken.
  bool const newer = segment.acknowledgment.after(v.echo_ack) ||
                     (v.stamp_known && tick(v.stamp).before(tick(segment.options.timestamp_value)));
  bool const lapsed = v.echo_known && echo == 0 && !sent && newer;
  // A peer with zero on its SYN has started its clock later.
  bool const opening = other.stamp_first != 0 &&
                       tick(echo + paced).before(tick(other.stamp_first)) &&
                       m.said.at.since(other.stamp_first_at) < comparable;
  bool const back = v.echo_known && segment.acknowledgment.after(v.echo_ack) &&
                    tick(echo + grace).before(tick(v.echo)) &&
                    m.said.at.since(v.echo_at) < comparable;
  bool const due = other.echo_due && segment.acknowledgment.after(other.echo_due_for);
  bool const stale = due && tick(echo).before(tick(other.echo_due_stamp));
  //= rfc7323#4.3
  //# 7323:TS-15 TS.Recent does not decrease, and TSecr is TS.Recent
  if (lapsed) {
    m.judge.call(m, Rule::echo_old, m.terms.whole ? Ambiguity::none : Ambiguity::hidden,
                 {v.echo, echo});
  } else if (opening || back) {
    std::uint32_t const least = back ? v.echo : other.stamp_first;
    // Of another clock: that of a connection with the same ports whose begin the capture lacks.
    bool const far = !m.terms.whole && least - echo > leap_ticks;
    bool const lacking = far || (!back && !shows_first_octet(m));
    m.judge.call(m, Rule::echo_old, lacking ? Ambiguity::lost_packets : Ambiguity::none,
                 {least, echo});
  } else if (stale) {
    // The data may be a retransmission of what the capture lacks, or overtaken by a later ACK,
    // which Linux then takes for old.
    m.judge.call_whole(m, Rule::echo_old, m.terms.whole ? Ambiguity::none : Ambiguity::hidden,
                       {other.echo_due_stamp, echo});
  }
  other.echo_due = other.echo_due && !due;
}

// Notes the timestamp of new data that begins with the octet that the other expects. Data with an
// older timestamp than others had may be dropped by PAWS.
void note_echo_due(const Moment& m) {
  wire::Segment const& segment = m.segment();
  EndpointState& v = m.speaker;
  bool const next = v.limited && !v.limit_unread && segment.sequence == v.limit_ack &&
                    segment.options.has_timestamps && !m.said.text().empty() &&
                    !segment.flags.any_of(wire::flag::rst | wire::flag::syn);
  bool const late = v.order_known && segment.acknowledgment.before(v.order_ack);
  bool const old =
      v.stamp_any && tick(segment.options.timestamp_value).before(tick(v.stamp_highest));
  if (next && !late && !old && v.fresh_known && segment.sequence.at_or_after(v.fresh_from)) {
    v.echo_due = true;
    v.echo_due_for = segment.sequence;
    v.echo_due_stamp = segment.options.timestamp_value;
  }
}

// The sender acknowledges data whose timestamp is older than one it had echoed before.
void judge_paws(const Moment& m) {
  wire::Segment const& segment = m.segment();
  EndpointState& other = m.other;
  if (!other.stale || !segment.flags.ack() || m.may.paws_off ||
      !segment.acknowledgment.after(other.stale_begin)) {
    return;
  }
  other.stale = false;
  //= rfc7323#5.3
  //# 7323:TS-17 a segment with a timestamp before TS.Recent is dropped
  // Elsewhere than at the receiver, data may be recorded after its own acknowledgment.
  bool const exact = m.terms.is_strict() || (m.terms.whole && m.own);
  bool const sure = exact || (other.stale_sure && !other.stamps_leap);
  m.judge.call_whole(m, Rule::old_stamp_accepted, sure ? Ambiguity::none : Ambiguity::order,
                     {other.stale_begin.value, segment.acknowledgment.value});
}

// Whether the other had echoed a later timestamp even if packets were recorded late.
bool echoed_long_ago(const Moment& m, std::uint32_t stamp) {
  EndpointState const& other = m.other;
  bool const latest = m.said.at.since(other.echo_at) >= recorded_late;
  bool const before = other.echoes_before == 2 && tick(stamp).before(tick(other.echo_before[1]));
  // Data with lower sequence numbers, which was new as well, was sent before.
  EndpointState const& v = m.speaker;
  bool const behind = v.fresh_stamped && tick(stamp).before(tick(v.fresh_stamp));
  return (latest && tick(stamp).before(tick(other.echo))) || before || behind;
}

// Notes data whose timestamp is older than the latest that the other had echoed.
void note_stale(const Moment& m) {
  wire::Segment const& segment = m.segment();
  EndpointState& v = m.speaker;
  if (m.said.text().empty() || !segment.options.has_timestamps ||
      segment.flags.any_of(wire::flag::rst | wire::flag::syn)) {
    return;
  }
  Sequence const begin = segment.sequence;
  Sequence const end = begin + m.said.text();
  // Linux accepts a timestamp one tick older than TS.Recent.
  std::uint32_t const grace = m.terms.is_strict() ? 0 : 1;
  bool const compared = m.terms.is_strict() || m.said.at.since(m.other.echo_at) < comparable;
  bool const old = compared && m.other.echo_known && plain_opening(m) &&
                   !m.other.openings[0].unstamped &&
                   tick(segment.options.timestamp_value + grace).before(tick(m.other.echo));
  bool const quiet = m.said.at.since(m.connection.last_at) > outdated_after;
  // hear_numbers() has already recorded this segment, so fresh_from decides whether it is new.
  bool const fresh = begin == v.fresh_from && !v.stale;
  if (old && fresh && !quiet) {
    v.stale = true;
    v.stale_sure = echoed_long_ago(m, segment.options.timestamp_value + grace);
    v.stale_begin = begin;
    v.stale_end = end;
  } else if (!old && v.stale && begin.before(v.stale_end) && v.stale_begin.before(end)) {
    v.stale = false;
  }
  std::uint32_t const now = segment.options.timestamp_value;
  if (begin == v.fresh_from && (!v.fresh_stamped || tick(v.fresh_stamp).before(tick(now)))) {
    v.fresh_stamped = true;
    v.fresh_stamp = now;
  }
  v.fresh_from = last_of(v.fresh_from, end);
}

}  // namespace

bool clock_may_reach(const Moment& m, const EndpointState& side, std::uint32_t stamp) {
  return !side.stamp_any || stamp - side.stamp_highest <=
                                m.said.at.since(side.stamp_highest_at).ns / 1'000 + slack_ticks;
}

void judge_stamps(const Moment& m) {
  wire::Segment const& segment = m.segment();
  if (segment.flags.syn()) {
    if (segment.flags.ack()) {
      judge_answer_stamps(m);
    }
    return;
  }
  judge_presence(m);
  note_leap(m);
  judge_clock(m);
  judge_echo(m);
  judge_old_echo(m);
  judge_paws(m);
}

void hear_stamps(const Moment& m) {
  wire::Segment const& segment = m.segment();
  EndpointState& v = m.speaker;
  // A second record of the same SYN, as in merged captures, must not reset fresh_from.
  if (segment.flags.syn() && (!v.fresh_known || v.fresh_iss != segment.sequence)) {
    v.fresh_known = true;
    v.fresh_iss = segment.sequence;
    v.fresh_from = m.said.end();
  }
  note_echo_due(m);
  note_stale(m);
  if (!segment.options.has_timestamps || segment.flags.rst()) {
    return;
  }
  std::uint32_t const now = segment.options.timestamp_value;
  note_leap(m);
  v.stamp_latest = now;
  if (segment.flags.syn() && !v.stamp_first_known) {
    v.stamp_first_known = true;
    v.stamp_first = now;
    v.stamp_first_at = m.said.at;
  }
  if (!v.stamp_any || tick(v.stamp_highest).before(tick(now))) {
    v.stamp_any = true;
    v.stamp_highest = now;
    v.stamp_highest_at = m.said.at;
  }
  if (segment.flags.syn() || !segment.flags.ack()) {
    return;
  }
  if (!v.stamp_known || tick(v.stamp).before(tick(now))) {
    v.stamp_known = true;
    v.stamp = now;
    v.stamp_ack = segment.acknowledgment;
  }
  std::uint32_t const echo = segment.options.timestamp_echo;
  if (echo != 0 && (!v.echo_known || tick(v.echo).before(tick(echo)))) {
    if (v.echo_known && m.said.at.since(v.echo_turned_at) >= recorded_late) {
      v.echo_before = {v.echo, v.echo_before[0]};
      v.echoes_before = std::min(v.echoes_before + 1, 2u);
      v.echo_turned_at = m.said.at;
    }
    v.echo_known = true;
    v.echo = echo;
    v.echo_at = m.said.at;
    v.echo_ack = segment.acknowledgment;
  }
}

}  // namespace lockstep::sim::referee
