// Timestamps (RFC 7323): which segments have them, that they do not decrease, echoes, and PAWS.
#include <algorithm>

#include "sim/checkers/referee/judges.hpp"

namespace lockstep::sim::referee {
namespace {

// A packet may be recorded this much later than the reply to it.
constexpr Duration recorded_late = Duration::milliseconds(20);

// After this idle time TS.Recent is outdated (RFC 7323, 5.5).
constexpr Duration outdated_after = Duration::seconds(24 * 86'400);
// A paced segment may carry the timestamp of its departure time; this many ticks are tolerated.
constexpr std::uint32_t paced_ticks = 64;
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

// A SYN-ACK has only options that the SYN offered. In a simultaneous open it may offer its own.
void judge_answer(const Moment& m) {
  wire::Options const& options = m.segment().options;
  EndpointState const& asked = m.other;
  bool const crossed = m.speaker.opening_count != 0 && !m.speaker.openings[0].is_answer;
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
  bool const stamped = ever_stamped(asked);
  std::uint64_t const which = options.has_window_scale && !scaled   ? 3
                              : options.has_sack_permitted && !sack ? 4
                              : options.has_timestamps && !stamped  ? 8
                                                                    : 0;
  if (which != 0) {
    m.judge.call_whole(m, Rule::option_unoffered, Ambiguity::none, {0, which});
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
    m.judge.call_whole(m, Rule::stamp_missing, Ambiguity::none, {1, 0});
  }
  bool const answered = ours.is_answer != theirs.is_answer;
  //= rfc7323#3.2
  //# 7323:TS-39 no timestamp is sent to a peer whose SYN had none
  if (has && answered && !theirs.stamped) {
    m.judge.call_whole(m, Rule::stamp_unnegotiated, Ambiguity::none, {0, 1});
  }
}

void judge_clock(const Moment& m) {
  wire::Segment const& segment = m.segment();
  if (!segment.options.has_timestamps || !m.speaker.stamp_any) {
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
    bool const paced = !m.terms.whole && m.speaker.stamp - now <= paced_ticks;
    m.judge.call_whole(m, Rule::stamp_backward, paced ? Ambiguity::hidden : Ambiguity::none,
                       {m.speaker.stamp, now});
  }
}

void judge_echo(const Moment& m) {
  wire::Segment const& segment = m.segment();
  std::uint32_t const echo = segment.options.timestamp_echo;
  bool const heard = segment.options.has_timestamps && segment.flags.ack() && m.other.stamp_any;
  if (!heard || echo == 0 || m.other.opening_count > 1 || m.other.has_former) {
    return;
  }
  //= rfc7323#3.2
  //# 7323:TS-11 an echoed timestamp was received
  if (tick(m.other.stamp_highest).before(tick(echo))) {
    std::uint32_t const place =
        m.judge.call_whole(m, Rule::echo_unheard, Ambiguity::none, {m.other.stamp_highest, echo});
    // A claim is open only if the fastest timestamp clock could have reached the value by now.
    std::uint64_t const most = m.said.at.since(m.other.stamp_highest_at).ns / 1'000 + slack_ticks;
    if (echo - m.other.stamp_highest <= most) {
      await(m, {.kind = Claim::Kind::echo,
                .from = tick(m.other.stamp_highest),
                .upto = tick(echo),
                .place = place});
    }
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
  m.judge.call_whole(m, Rule::old_stamp_accepted,
                     m.terms.whole || other.stale_sure ? Ambiguity::none : Ambiguity::order,
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
  std::uint32_t const grace = m.terms.whole ? 0 : 1;
  bool const old = m.other.echo_known && plain_opening(m) && !m.other.openings[0].unstamped &&
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

void judge_stamps(const Moment& m) {
  wire::Segment const& segment = m.segment();
  if (segment.flags.syn()) {
    if (segment.flags.ack()) {
      judge_answer(m);
    }
    return;
  }
  judge_presence(m);
  judge_clock(m);
  judge_echo(m);
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
  note_stale(m);
  if (!segment.options.has_timestamps || segment.flags.rst()) {
    return;
  }
  std::uint32_t const now = segment.options.timestamp_value;
  if (segment.flags.syn() && !v.stamp_first_known) {
    v.stamp_first_known = true;
    v.stamp_first = now;
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
  }
}

}  // namespace lockstep::sim::referee
