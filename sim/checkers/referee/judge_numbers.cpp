// Rules of sequence and acknowledgment numbers, given the segments that a side may have received.
#include <algorithm>

#include "core/wire/octets.hpp"
#include "sim/checkers/referee/judges.hpp"

namespace lockstep::sim::referee {
namespace {

namespace flag = wire::flag;

// The payload of a full Ethernet packet; a larger one was joined by hardware.
constexpr std::uint32_t text_of_ethernet = 1'460;
constexpr std::uint8_t kind_multipath = 30;  // RFC 8684

bool within(Sequence value, Sequence begin, Sequence end) {
  return begin.at_or_before(value) && value.at_or_before(end);
}

std::uint32_t mss_default(const Moment& m) { return m.said.source.address.is_v4() ? 536 : 1'220; }

// Whether `options` contains an option of this kind.
bool has_option(std::span<const std::byte> options, std::uint8_t kind) {
  constexpr std::uint8_t end_of_options = 0;
  constexpr std::uint8_t padding = 1;
  std::size_t at = 0;
  while (at < options.size()) {
    std::uint8_t const here = wire::load8(options.data() + at);
    if (here == kind || here == end_of_options) {
      return here == kind;
    }
    std::size_t const length = here == padding           ? 1
                               : at + 1 < options.size() ? wire::load8(options.data() + at + 1)
                                                         : 0;
    if (length == 0) {
      return false;
    }
    at += length;
  }
  return false;
}

bool names_multipath(const EndpointState& endpoint) {
  bool names = false;
  for (std::uint32_t i = 0; i < endpoint.opening_count; ++i) {
    names = names || endpoint.openings[i].multipath;
  }
  return names;
}

// The unit of an endpoint's window field: 1 unless both SYNs have a window scale.
std::uint32_t unit_of(const EndpointState& endpoint, const EndpointState& other, bool syn) {
  bool scaled = endpoint.scaled && !syn;
  for (std::uint32_t i = 0; i < other.opening_count; ++i) {
    scaled = scaled && other.openings[i].scaled;
  }
  return scaled && other.opening_count != 0 ? 1u << endpoint.scale.shift : 1;
}

// The largest unit that the sender's window field may have: of several SYNs any may count.
std::uint32_t largest_unit_of(const Moment& m) {
  if (m.speaker.middle || m.other.middle) {
    return m.segment().flags.syn() ? 1 : 1u << 14;
  }
  std::uint32_t largest = 1;
  for (std::uint32_t i = 0; i < m.speaker.opening_count; ++i) {
    Opening const& opening = m.speaker.openings[i];
    bool const scaled = m.other.scaled && opening.scaled && !m.segment().flags.syn();
    largest = std::max(largest, scaled ? 1u << opening.scale.shift : 1u);
  }
  return largest;
}

// Whether it is unknown if windows are scaled: a SYN is missing, or the peer's SYNs differ.
bool scale_unsure(const Moment& m) {
  for (std::uint32_t i = 1; i < m.other.opening_count; ++i) {
    if (m.speaker.scaled && m.other.openings[i].scaled != m.other.openings[0].scaled) {
      return true;
    }
  }
  return (m.speaker.scaled && m.other.openings_lost) || m.speaker.middle || m.other.middle ||
         (m.speaker.scaled && m.other.opening_count == 0);
}

// No segment has more data than the MSS of the other's SYN allows.
void judge_limits(const Moment& m) {
  if (!knows_full_size(m)) {
    return;
  }
  Bytes const most = full_size(m);
  bool const joined = !m.terms.whole && m.said.text().count > text_of_ethernet;
  if (m.said.text() > most && !joined) {
    bool const split = m.terms.joined || m.said.is_offloaded();
    bool const sure = m.terms.is_strict() || (m.terms.whole && !split);
    m.judge.call_whole(m, Rule::mss_exceeded, sure ? Ambiguity::none : Ambiguity::offload,
                       {most.count, m.said.text().count});
  }
}

// The end of the contiguous data of the other that was seen, from the last acknowledgment on.
Sequence reach_of(const Moment& m) {
  EndpointState const& endpoint = m.other;
  Sequence const from = m.speaker.offered ? m.speaker.last_ack : endpoint.openings[0].origin;
  Sequence const reach = endpoint.text.reach(from);
  return endpoint.fin_seen && endpoint.fin_seen_end.previous() == reach ? endpoint.fin_seen_end
                                                                        : reach;
}

void judge_claim(const Moment& m, Sequence last) {
  wire::Segment const& segment = m.segment();
  // Nothing from the other side was seen: the capture has one direction only.
  if (!m.terms.whole && m.other.opening_count == 0 && !m.other.middle) {
    return;
  }
  // A whole capture may begin after the other's SYN.
  Ambiguity const ambiguity =
      m.other.opening_count == 0 && !m.terms.is_strict() ? Ambiguity::middle : Ambiguity::none;
  std::uint32_t const place = m.judge.call_whole(m, Rule::ack_of_unheard, ambiguity,
                                                 {last.value, segment.acknowledgment.value});
  note_unheard(m, Claim::Kind::ack, last, segment.acknowledgment, place);
  await(m,
        {.kind = Claim::Kind::ack, .from = last, .upto = segment.acknowledgment, .place = place});
}

//= rfc9293#3.4
//# 9293:P-ACK-CUMUL an ACK confirms that everything before its number was received
void judge_ack(const Moment& m) {
  wire::Segment const& segment = m.segment();
  if (!segment.flags.ack() || m.other.openings_lost) {
    return;
  }
  forgive_checksums(m);
  bool heard = m.other.middle && segment.acknowledgment.at_or_before(m.other.sent);
  for (std::uint32_t i = 0; i < m.other.opening_count; ++i) {
    Opening const& opening = m.other.openings[i];
    heard = heard || within(segment.acknowledgment, opening.origin, opening.seen_end);
  }
  if (!heard) {
    std::uint32_t const count = m.other.opening_count;
    judge_claim(m, count == 0 ? m.other.sent : m.other.openings[count - 1].seen_end);
    return;
  }
  bool const odd = m.other.fins_differ || m.other.text.forgetful();
  if (m.other.opening_count != 1 || m.other.middle || odd) {
    return;
  }
  bool const progress = !m.speaker.offered || segment.acknowledgment.after(m.speaker.last_ack);
  Sequence const reach = progress ? reach_of(m) : segment.acknowledgment;
  if (!segment.acknowledgment.after(reach)) {
    return;
  }
  // The ACK covers a gap: either the capture lacks the segment in it, or that never arrived.
  if (m.terms.whole) {
    std::uint32_t const place = m.judge.call_whole(m, Rule::ack_of_unheard, Ambiguity::none,
                                                   {reach.value, segment.acknowledgment.value});
    await(
        m,
        {.kind = Claim::Kind::ack, .from = reach, .upto = segment.acknowledgment, .place = place});
  } else {
    m.judge.weaken_whole(m);
  }
}

// forgive_checksums() for segments that a SACK block covers.
void forgive_block(const Moment& m, const wire::SackBlock& block) {
  EndpointState& v = m.other;
  for (Spoiled const& spoiled : v.spoiled) {
    if (!m.terms.whole && spoiled.waits && block.begin.at_or_before(spoiled.begin) &&
        spoiled.end.at_or_before(block.end)) {
      m.judge.weaken_checksum(v, spoiled.place);
      v.text.add(spoiled.begin, spoiled.text);
    }
  }
}

// SACK blocks cover received data only, and the other's SYN must have permitted them. The sender's
// own SYN says what the other may send.
void judge_blocks(const Moment& m) {
  wire::Segment const& segment = m.segment();
  // Of several SYNs it is unknown which one counts.
  if (segment.options.sack_count == 0 || !plain_opening(m)) {
    return;
  }
  //= rfc2018#4
  //# 2018:SACK-2 no SACK blocks to a peer that did not permit them
  if (!m.other.openings[0].sack) {
    m.judge.call_whole(m, Rule::sack_unpermitted, Ambiguity::none, {0, segment.options.sack_count});
    return;
  }
  for (std::uint32_t i = 0; i < segment.options.sack_count; ++i) {
    wire::SackBlock const& block = segment.options.sack[i];
    forgive_block(m, block);
    bool const fin = m.other.fin_seen && block.end == m.other.fin_seen_end;
    Sequence const end = fin ? block.end.previous() : block.end;
    // A D-SACK may report a SYN that arrived again.
    bool const syn = !m.other.is_old() && block.begin == m.other.openings[0].iss;
    Sequence const begin = syn ? block.begin.next() : block.begin;
    bool const whole = end == begin || m.other.text.holds(begin, end);
    //= rfc2018#3
    //# 2018:SACK-14 a block covers received data
    if (!block.end.after(block.begin) || !whole) {
      // A middlebox that rewrites sequence numbers may leave those in SACK blocks unchanged.
      std::int32_t const off = block.begin.distance_from(segment.acknowledgment);
      bool const far = !m.terms.whole && (off > near_most || off < -near_most);
      std::uint32_t const place =
          m.judge.call_whole(m, Rule::sack_of_unheard, far ? Ambiguity::middlebox : Ambiguity::none,
                             {block.end.value, block.begin.value});
      note_unheard(m, Claim::Kind::block, block.begin, end, place);
      await(m, {.kind = Claim::Kind::block, .from = block.begin, .upto = end, .place = place});
    }
  }
}

// Whether ACK number or timestamp shows that the segment was sent after the one with the furthest
// edge.
Ambiguity ambiguity_of_order(const Moment& m) {
  wire::Options const& options = m.segment().options;
  bool const ticked = options.has_timestamps && !m.speaker.stamps_leap &&
                      m.speaker.edge_stamp != 0 &&
                      tick(m.speaker.edge_stamp).before(tick(options.timestamp_value));
  return surely_after(m, m.speaker.edge_ack) || ticked ? Ambiguity::none : Ambiguity::order;
}

// The index of the other's opening whose range contains the number; of several, the one with the
// latest origin. opening_count if none does.
std::uint32_t opening_of(const EndpointState& other, Sequence number) {
  std::uint32_t found = other.opening_count;
  for (std::uint32_t i = 0; i < other.opening_count; ++i) {
    Opening const& opening = other.openings[i];
    bool const nearer =
        found == other.opening_count || opening.origin.after(other.openings[found].origin);
    found = within(number, opening.origin, opening.seen_end) && nearer ? i : found;
  }
  return found;
}

// If the ports were reused and the capture lacks the SYNs, the acknowledgment number is outside the
// range that was acknowledged before.
Ambiguity ambiguity_of_reuse(const Moment& m, Sequence before) {
  Sequence const ack = m.segment().acknowledgment;
  EndpointState const& other = m.other;
  bool same = m.terms.whole || ack == before ||
              (other.middle && ack.at_or_before(other.sent) && before.at_or_before(other.sent));
  std::uint32_t const opening = opening_of(other, ack);
  same = same || (opening != other.opening_count && opening == opening_of(other, before));
  return same && m.segment().flags.ack() ? Ambiguity::none : Ambiguity::lost_packets;
}

// The right edge up to which the sender may send.
Sequence limit_of(const Moment& m) {
  EndpointState const& v = m.speaker;
  Sequence limit = v.limited ? v.limit : v.iss;
  // With Fast Open a server may send data before the handshake is complete, within the SYN's
  // window.
  bool const early = m.may.fast_open_server && !v.is_old();
  for (std::uint32_t i = 0; i < m.other.opening_count && early; ++i) {
    limit = last_of(limit, v.iss.next() + m.other.openings[i].window);
  }
  return limit;
}

// An ACK without data has the sequence number SND.NXT. One that acknowledges more than all before
// was sent after them, so its number cannot be an old one.
//= rfc9293#3.8
//# 9293:P-VARS-ADVANCE sending advances SND.NXT
void judge_bare(const Moment& m) {
  EndpointState const& v = m.speaker;
  wire::Segment const& segment = m.segment();
  bool const bare =
      m.said.length().empty() && segment.flags.ack() && !segment.flags.any_of(flag::rst);
  bool const newest = v.order_known && segment.acknowledgment.after(v.order_ack);
  if (!bare || !newest || v.opening_count != 1 || v.has_former || v.fin_sent ||
      ambiguity_of_middle(m) != Ambiguity::none) {
    return;
  }
  std::int32_t const off = segment.sequence.distance_from(v.sent);
  // A keep-alive has SND.NXT - 1, and a packet that waits for its next hop counts as sent.
  if ((off >= -1 && off <= 0) || (off > 0 && m.own && m.may.unsent)) {
    return;
  }
  // SND.NXT may move back after a timeout, but not below SND.UNA: no further than a window.
  Sequence const limit = limit_of(m);
  auto const window = static_cast<std::int32_t>(
      std::min<std::uint32_t>(std::max(v.limit_widest.count, 0xffffu), 0x7fff'ffff));
  bool const impossible = off < 0 ? -off > window : v.limited && segment.sequence.after(limit);
  Ambiguity const possible = off < 0 || m.terms.whole ? Ambiguity::hidden : Ambiguity::lost_packets;
  std::uint32_t const place =
      m.judge.call_whole(m, Rule::bare_ack_off, impossible ? Ambiguity::none : possible,
                         {v.sent.value, segment.sequence.value});
  if (off > 0) {
    await(
        m,
        {.kind = Claim::Kind::edge, .from = v.limit_ack, .upto = segment.sequence, .place = place});
  }
}

// Whether a firewall behind the capture point may have taken the scale out of one SYN, so that the
// windows are not scaled: the side has received no more than they permit then, and they do not
// shrink then.
bool may_be_unscaled(const Moment& m) {
  EndpointState& v = m.speaker;
  wire::Segment const& segment = m.segment();
  if (m.terms.whole || m.own || segment.flags.syn() || unit_of(v, m.other, false) == 1) {
    return false;
  }
  Sequence const edge = segment.acknowledgment + Bytes{segment.window.value};
  v.scales = v.scales || (v.plain_known && segment.acknowledgment.after(v.plain_edge));
  bool const shrinks = v.plain_known && v.plain_edge.after(edge);
  v.plain_edge = shrinks ? v.plain_edge : edge;
  v.plain_known = true;
  return !v.scales && !shrinks;
}

// A host without memory may have closed its window by a segment that was lost; then a smaller
// window follows. So one or two moves are certain only if nothing that the host sent is missing.
bool may_have_been_shut(const Moment& m) {
  constexpr std::uint32_t moves_least = 3;
  bool const all_seen = m.terms.is_strict() || (m.own && m.terms.whole);
  return !all_seen && m.speaker.edge_moves < moves_least;
}

// The offered right edge never moves left, and there is at most one ACK for each segment.
void judge_edge(const Moment& m) {
  wire::Segment const& segment = m.segment();
  if (!segment.flags.ack()) {
    return;
  }
  EndpointState& v = m.speaker;
  std::uint32_t const unit = unit_of(v, m.other, segment.flags.syn());
  Bytes const window{segment.window.value * unit};
  Sequence const edge = segment.acknowledgment + window;
  //= rfc9293#3.8.6
  //# 9293:SHLD-14 the right edge does not move left
  //= rfc7323#2.4
  //# 7323:TS-36 the rounding of a scaled window may move the edge left by less than one unit
  // After the other's FIN no data can arrive, so the window has no meaning.
  bool const over =
      m.other.fin_seen && !m.terms.is_strict() && segment.acknowledgment == m.other.fin_seen_end;
  // A SYN-ACK, whose window is unscaled, may arrive after later segments with scaled windows.
  std::uint32_t const rounding = unit_of(v, m.other, false) - 1;
  bool const unscaled = may_be_unscaled(m);
  if (v.offered && !scale_unsure(m) && v.edge.after(edge + Bytes{rounding})) {
    // An equal packet was judged before.
    bool const late = m.said.equal || (!m.own && v.edge_ack.after(segment.acknowledgment));
    // A host without memory may close the window completely, as Linux does.
    bool const shut = window.empty() && !m.terms.is_strict();
    // A proxy may have answered the SYN with a window of its own, or removed the window scale.
    bool const proxied = v.edge_of_syn && !m.own && !m.terms.whole;
    Ambiguity const order = ambiguity_of_order(m);
    v.edge_moves += late || shut || order != Ambiguity::none ? 0 : 1;
    if (!late) {
      m.judge.call_whole(m, Rule::edge_moved_left,
                         shares_window(m)           ? Ambiguity::shared_window
                         : shut || over             ? Ambiguity::hidden
                         : may_have_been_shut(m)    ? Ambiguity::hidden
                         : proxied || unscaled      ? Ambiguity::middlebox
                         : order != Ambiguity::none ? order
                                                    : ambiguity_of_reuse(m, v.edge_ack),
                         {v.edge.value, edge.value});
    }
    // What follows is compared with the new edge, so that each move counts once.
    bool const moved = !late && !m.terms.is_strict();
    v.edge = moved ? edge : v.edge;
    v.edge_ack = moved ? segment.acknowledgment : v.edge_ack;
    v.edge_went_left = v.edge_went_left || !late;
  }
  bool const pure = m.said.length().empty() && segment.sequence == v.sent;
  bool const update = v.offered && segment.acknowledgment == v.last_ack && edge.after(v.edge);
  if (pure && !update && m.own) {
    ++v.pure_acks;
    //= rfc5681#4.2
    //# 5681:CC-28 at most one ACK for each arriving segment, except for window updates
    if (v.pure_acks > m.other.segments) {
      // MPTCP sends data ACKs and signals as pure ACKs of a subflow.
      Ambiguity const whole = shares_window(m) ? Ambiguity::shared_window : Ambiguity::none;
      m.judge.call_whole(m, Rule::too_many_acks, m.terms.whole ? whole : Ambiguity::lost_packets,
                         {m.other.segments, v.pure_acks});
    }
  }
  if (!v.offered || edge.after(v.edge)) {
    v.edge = edge;
    v.edge_ack = segment.acknowledgment;
    v.edge_stamp = segment.options.has_timestamps ? segment.options.timestamp_value : 0;
  }
  v.edge_of_syn = edge == v.edge ? segment.flags.syn() : v.edge_of_syn;
  v.last_ack = segment.acknowledgment;
  v.last_window = window;
  v.widest = v.offered ? most(v.widest, window) : window;
  v.offered = true;
}

//= rfc9293#3.8.6
//# 9293:P-WND-FIT data fits the window, except for the octet of a window probe
void judge_window(const Moment& m) {
  EndpointState const& v = m.speaker;
  wire::Segment const& segment = m.segment();
  Sequence const text_end = m.said.text_begin() + m.said.text();
  bool const probe = m.said.text().count == 1 && v.limited && segment.sequence == v.limit;
  bool const opens = segment.flags.syn() && !segment.flags.ack() && m.may.fast_open_client &&
                     (segment.options.cookie_bytes != 0 || !m.terms.is_strict());
  bool const deaf = !m.terms.whole && !v.limited;
  Sequence const limit = limit_of(m);
  Sequence const reported = m.said.segment.sequence + m.said.text();
  if (!m.said.text().empty() && !probe && !opens && !deaf && text_end.after(limit)) {
    // A closed window is probed with at least one octet (3.8.6.1); uIP sends a whole segment.
    bool const probes = !m.terms.is_strict() && seems_shut(m) && segment.sequence == v.limit_ack &&
                        m.said.text() <= full_size(m);
    // One direction may be recorded late from the SYN-ACK on: then each ACK is recorded before what
    // it acknowledges, and none has told the limit.
    bool const early = !v.limited && !m.own && !m.terms.is_strict();
    // Also a whole capture may begin after the SYN that tells how windows are scaled.
    bool const unscaled = !m.terms.is_strict() && m.other.opening_count == 0;
    Ambiguity const ambiguity = shares_window(m)  ? Ambiguity::shared_window
                                : probes          ? Ambiguity::hidden
                                : unscaled        ? Ambiguity::middle
                                : was_stripped(m) ? Ambiguity::middlebox
                                : early           ? Ambiguity::order
                                                  : Ambiguity::none;
    std::uint32_t const place =
        m.judge.call_whole(m, Rule::beyond_window, ambiguity, {limit.value, reported.value});
    await(m, {.kind = Claim::Kind::edge,
              .from = v.limited ? v.limit_ack : v.iss,
              .upto = text_end,
              .place = place});
  }
}

// Data is sent without gaps, within the peer's window and not after the FIN.
void judge_text(const Moment& m) {
  EndpointState& v = m.speaker;
  wire::Segment const& segment = m.segment();
  // A packet whose next hop is not resolved counts as sent and lost, so a gap is an error only if
  // no next hop has to be resolved (`unsent`).
  bool const gap = segment.sequence.after(v.sent) && !m.may.unsent;
  bool const early = segment.sequence.before(v.origin) && !v.middle;
  if (m.own && (early || gap)) {
    // The host's own queue may have dropped what it sent before the place of the capture.
    bool const dropped = gap && !m.terms.is_strict();
    m.judge.call_whole(m, Rule::sent_with_gap,
                       !m.terms.whole ? Ambiguity::lost_packets
                       : dropped      ? Ambiguity::hidden
                                      : Ambiguity::none,
                       {v.sent.value, segment.sequence.value});
  }
  if (early) {
    return;
  }
  judge_window(m);
  //= rfc9293#3.10.4
  //# 9293:P-CLOSE-QUEUED nothing is sent after the FIN
  if (v.fin_sent && m.said.end().after(v.fin_end)) {
    m.judge.call_whole(m, Rule::beyond_fin, ambiguity_of_reuse(m, v.fin_ack),
                       {v.fin_end.value, m.said.end().value});
  } else if (segment.flags.fin() && v.sent.after(m.said.end())) {
    m.judge.call_whole(m, Rule::beyond_fin, ambiguity_of_reuse(m, v.sent_ack),
                       {m.said.end().value, v.sent.value});
  }
  v.sent_ack = m.said.end().after(v.sent) ? segment.acknowledgment : v.sent_ack;
  v.sent = last_of(v.sent, m.said.end());
  if (segment.flags.fin() && !v.fin_sent) {
    v.fin_sent = true;
    v.fin_end = m.said.end();
    v.fin_ack = segment.acknowledgment;
  }
}

// Records a SYN. A copy with the same ISS may offer something else, and either may be accepted.
void open(const Moment& m) {
  EndpointState& v = m.speaker;
  wire::Segment const& syn = m.segment();
  Bytes const mss{syn.options.has_mss ? syn.options.mss : mss_default(m)};
  bool const asks = syn.flags.ece() && syn.flags.cwr() && !syn.flags.ack();
  bool const grants = syn.flags.ece() && !syn.flags.cwr() && syn.flags.ack();
  // A SYN-ACK agrees to AccECN by AE or CWR; with AE and ECE it is RFC 3540's, or a reflection.
  bool const ae = m.said.reserved == 1;
  bool const accurate =
      syn.flags.ack() ? (ae || syn.flags.cwr()) && !(ae && syn.flags.ece()) : ae && asks;
  for (std::uint32_t i = 0; i < v.opening_count; ++i) {
    Opening& opening = v.openings[i];
    if (opening.iss == syn.sequence) {
      opening.mss = most(opening.mss, mss);
      opening.sack = opening.sack || syn.options.has_sack_permitted;
      opening.window = most(opening.window, Bytes{syn.window.value});
      opening.scale = std::max(opening.scale, syn.options.window_scale);
      opening.stamped = opening.stamped || syn.options.has_timestamps;
      opening.unstamped = opening.unstamped || !syn.options.has_timestamps;
      opening.asks_ecn = opening.asks_ecn || asks;
      opening.grants_ecn = opening.grants_ecn || grants;
      opening.accurate_ecn = opening.accurate_ecn || accurate;
      // In a simultaneous open it repeats a SYN.
      opening.is_answer = opening.is_answer && syn.flags.ack();
      opening.multipath = opening.multipath || has_option(m.said.options, kind_multipath);
      v.openings_lost = v.openings_lost || opening.scaled != syn.options.has_window_scale;
      return;
    }
  }
  if (v.opening_count == EndpointState::openings_max) {
    v.openings_lost = true;
    return;
  }
  Opening fresh;
  fresh.iss = syn.sequence;
  fresh.origin = syn.sequence.next();
  fresh.seen_end = m.said.end();
  fresh.mss = mss;
  fresh.window = {syn.window.value};
  fresh.scale = syn.options.window_scale;
  fresh.scaled = syn.options.has_window_scale;
  fresh.sack = syn.options.has_sack_permitted;
  fresh.stamped = syn.options.has_timestamps;
  fresh.unstamped = !fresh.stamped;
  fresh.asks_ecn = asks;
  fresh.grants_ecn = grants;
  fresh.accurate_ecn = accurate;
  fresh.is_answer = syn.flags.ack();
  fresh.multipath = has_option(m.said.options, kind_multipath);
  v.openings[v.opening_count++] = fresh;
}

}  // namespace

// An acknowledged segment had a right checksum when it arrived, whatever the capture shows.
void forgive_checksums(const Moment& m) {
  if (!m.segment().flags.ack() || m.terms.whole || m.other.spoiled_count == 0) {
    return;
  }
  EndpointState& v = m.other;
  for (Spoiled& spoiled : v.spoiled) {
    bool const heard = spoiled.waits && m.segment().acknowledgment.at_or_after(spoiled.end) &&
                       m.segment().acknowledgment.distance_from(spoiled.end) < (1 << 24);
    if (!heard) {
      continue;
    }
    spoiled.waits = false;
    if (!spoiled.text.empty() && v.text.holds(spoiled.begin, spoiled.begin + spoiled.text)) {
      if (v.forgiven && !v.good_text) {  // another copy, which was edited as well
        m.judge.weaken_checksum(v, spoiled.place);
      }
      continue;
    }
    m.judge.weaken_checksum(v, spoiled.place);
    v.forgiven = v.forgiven || !spoiled.text.empty();
    v.text.add(spoiled.begin, spoiled.text);
    for (std::uint32_t i = 0; i < v.opening_count; ++i) {
      v.openings[i].seen_end = last_of(v.openings[i].seen_end, spoiled.end);
    }
    v.sent = last_of(v.sent, spoiled.end);
  }
  // If all data has wrong checksums, unacknowledged segments were edited like the acknowledged
  // ones.
  for (Spoiled& spoiled : v.spoiled) {
    if (spoiled.waits && v.forgiven && !v.good_text) {
      m.judge.weaken_checksum(v, spoiled.place);
    }
  }
}

bool knows_full_size(const Moment& m) {
  return m.other.opening_count != 0 && !m.other.openings_lost && !m.other.middle;
}

Bytes full_size(const Moment& m) {
  Bytes out = m.terms.mss_least;
  for (std::uint32_t i = 0; i < m.other.opening_count; ++i) {
    out = most(out, m.other.openings[i].mss);
  }
  return out;
}

bool shares_window(const Moment& m) {
  return names_multipath(m.speaker) && names_multipath(m.other);
}

Sequence offer_of(const Moment& m) {
  Bytes const window{m.segment().window.value * largest_unit_of(m)};
  return m.segment().acknowledgment + window;
}

namespace {

// Updates how far the other may send, if it would accept this segment's ACK.
void tell_limit(const Moment& m) {
  EndpointState& other = m.other;
  wire::Segment const& segment = m.segment();
  bool const known = other.begun && segment.flags.ack() &&
                     (other.middle || within(segment.acknowledgment, other.origin, other.sent));
  Bytes const window{segment.window.value * largest_unit_of(m)};
  if (!known) {
    // An ACK may be recorded before what it acknowledges.
    bool const ahead = !m.terms.is_strict() && other.limited && segment.flags.ack() &&
                       segment.acknowledgment.after(other.sent) &&
                       segment.acknowledgment.distance_from(other.sent) < near_most;
    Sequence const edge = segment.acknowledgment + window;
    other.limit = m.terms.whole && ahead ? last_of(other.limit, edge) : other.limit;
    return;
  }
  other.limit_widest = other.limited ? most(other.limit_widest, window) : window;
  // A segment from before SND.WL1 moves SND.UNA but not SND.WND (RFC 9293 3.10.7.4).
  bool const late = other.limited && segment.sequence.before(other.limit_latest);
  bool const same = other.limited && segment.acknowledgment == other.limit_ack;
  bool const raised = !other.limited || segment.acknowledgment.after(other.limit_ack);
  bool const asks = m.said.text().count <= 1 && segment.sequence.next() == m.speaker.sent &&
                    !segment.flags.any_of(wire::flag::syn | wire::flag::fin);
  other.limit_unread = raised ? asks : other.limit_unread && !(same && !asks);
  other.limit_ack =
      other.limited ? last_of(other.limit_ack, segment.acknowledgment) : segment.acknowledgment;
  follow(other.origin, other.limit_ack);
  // Segments may arrive in another order than they were captured.
  Sequence const from = m.terms.whole && !m.own ? segment.acknowledgment : other.limit_ack;
  Sequence const edge = from + (late ? other.limit_widest : window);
  other.limit_latest =
      other.limited ? last_of(other.limit_latest, segment.sequence) : segment.sequence;
  other.limit = other.limited ? last_of(other.limit, edge) : edge;
  other.limited = true;
}

}  // namespace

void judge_numbers(const Moment& m) {
  judge_limits(m);
  judge_bare(m);
  judge_ack(m);
  judge_blocks(m);
  judge_edge(m);
  judge_text(m);
}

void hear_stray(const Moment& m) {
  EndpointState& v = m.speaker;
  ++v.segments;
  Sequence const end = m.segment().sequence + m.said.text();
  v.text.add(m.segment().sequence, m.said.text());
  v.sent = last_of(v.sent, end);
  v.openings[0].seen_end = last_of(v.openings[0].seen_end, end);
}

void hear_damaged(const Moment& m) {
  wire::Options const& options = m.segment().options;
  if (m.terms.whole || !m.said.options_good) {
    return;
  }
  ++m.speaker.segments;
  tell_limit(m);
  forgive_checksums(m);
  EndpointState& v = m.speaker;
  bool const later = !v.stamp_any || tick(v.stamp_highest).before(tick(options.timestamp_value));
  // The timestamp itself may be damaged.
  if (options.has_timestamps && later && clock_may_reach(m, v, options.timestamp_value)) {
    v.stamp_any = true;
    v.stamp_highest = options.timestamp_value;
    v.stamp_highest_at = m.said.at;
  }
}

void hear_numbers(const Moment& m) {
  EndpointState& v = m.speaker;
  wire::Segment const& segment = m.segment();
  ++v.segments;
  if (segment.flags.syn()) {
    open(m);
    v.early = v.early || !m.said.text().empty();
    v.early_end = m.said.text().empty() ? v.early_end : m.said.end();
  }
  for (std::uint32_t i = 0; i < v.opening_count; ++i) {
    Opening& opening = v.openings[i];
    if (m.said.end().after(opening.origin)) {
      opening.seen_end = last_of(opening.seen_end, m.said.end());
    }
  }
  // A RST from a host without the connection acknowledges whatever arrived, including forged data.
  bool const acks = segment.flags.ack() && !segment.flags.rst();
  for (std::uint32_t i = 0; i < m.other.opening_count && acks; ++i) {
    Opening& opening = m.other.openings[i];
    if (within(segment.acknowledgment, opening.origin, opening.seen_end)) {
      follow(opening.origin, segment.acknowledgment);
    }
  }
  v.text.add(m.said.text_begin(), m.said.text());
  settle_claims(m);
  if (segment.flags.fin() && !segment.flags.rst()) {
    v.fins_differ = v.fins_differ || (v.fin_seen && v.fin_seen_end != m.said.end());
    v.fin_seen = true;
    v.fin_seen_end = m.said.end();
  }
  tell_limit(m);
  if (segment.flags.ack() &&
      (v.ack_count == 0 ||
       v.acks[(v.ack_count - 1) % EndpointState::acks_max] != segment.acknowledgment)) {
    v.acks[v.ack_count++ % EndpointState::acks_max] = segment.acknowledgment;
  }
  v.last_was_reset = segment.flags.rst();
  if (segment.flags.rst()) {
    ++v.resets;
    v.reset_acked = segment.flags.ack();
    v.reset_ack = segment.acknowledgment;
    v.reset_end = m.said.end();
  }
}

}  // namespace lockstep::sim::referee
