// Claims: findings that stay open until later packets either confirm or explain them.
#include <algorithm>

#include "sim/checkers/referee/judges.hpp"

namespace lockstep::sim::referee {
namespace {

bool is_early(const Moment& m, const Claim& claim) {
  return m.said.at.since(claim.at) <= recorded_late;
}

// Whether the segment may be a retransmission that looks new because the capture lacks the first
// transmission and the ACK of it was lost. Only an echo of a later timestamp shows that the ACK was
// not lost: an equal one may be that of an ACK just before it, which the capture lacks as well.
// A single octet may be that of a keep-alive, which repeats the last one at any time.
bool may_be_repeat(const Moment& m, const Claim& claim) {
  wire::Options const& options = m.segment().options;
  bool const keep_alive = m.said.length().count == 1 && m.said.text().count == 1;
  return keep_alive || !claim.stamped || !options.has_timestamps ||
         !tick(claim.stamp).before(tick(options.timestamp_echo));
}

void settle_ack(const Moment& m, Claim& claim) {
  Sequence const end = m.said.end();
  if (m.said.length().empty() || end.at_or_before(claim.from)) {
    return;
  }
  if (m.segment().sequence.after(claim.from)) {
    m.judge.weaken_whole(m);
  } else if (is_early(m, claim) && end.before(claim.upto)) {
    claim.from = end;
    return;
  } else if (is_early(m, claim)) {
    m.judge.weaken_order(m, claim.place);
  } else if (may_be_repeat(m, claim)) {
    m.judge.weaken_claim(m, claim.place, Ambiguity::lost_packets);
  }
  claim.kind = Claim::Kind::none;
}

// Whether the sender may have gone back to the left edge, from which on it retransmits what SACK
// blocks have reported, too: after a timeout (RFC 2018, 5), or because it ignores SACK blocks.
bool may_have_gone_back(const Moment& m, const Claim& claim) {
  constexpr Duration timeout_least = Duration::milliseconds(190);  // 200 ms less measuring error
  Sequence const left = m.speaker.limited ? last_of(claim.left, m.speaker.limit_ack) : claim.left;
  bool const timed_out =
      m.said.at.since(claim.timer_from) >= std::min(m.terms.rto_min, timeout_least);
  return timed_out || claim.went_back || m.said.text_begin().at_or_before(left);
}

// The end of the speaker's data that follows `from` without a gap, with its FIN.
Sequence reach_from(const Moment& m, Sequence from) {
  Sequence const reach = m.speaker.text.reach(from);
  bool const now = m.segment().flags.fin() && m.said.end().previous() == reach;
  bool const before = m.speaker.fin_seen && m.speaker.fin_seen_end.previous() == reach;
  return now || before ? reach.next() : reach;
}

// Whether the octets of a SACK block were seen, and the FIN if it ends with that.
bool has_sent(const Moment& m, Sequence from, Sequence upto) {
  bool const now = m.segment().flags.fin() && m.said.end() == upto;
  bool const before = m.speaker.fin_seen && m.speaker.fin_seen_end == upto;
  Sequence const end = now || before ? upto.previous() : upto;
  return from == end || m.speaker.text.holds(from, end);
}

void settle_block(const Moment& m, Claim& claim) {
  Sequence const begin = m.said.text_begin();
  Sequence const end = begin + m.said.text();
  bool const at_left = begin.at_or_before(claim.left) && claim.left.before(end);
  claim.went_back = claim.went_back || (claim.left_sent && at_left);
  bool const touches = begin.before(claim.upto) && claim.from.before(m.said.end());
  if (!touches || (m.said.text().empty() && !is_early(m, claim))) {
    return;
  }
  if (!is_early(m, claim)) {
    if (may_be_repeat(m, claim) || may_have_gone_back(m, claim)) {
      m.judge.weaken_claim(m, claim.place, Ambiguity::lost_packets);
    }
    claim.kind = Claim::Kind::none;
  } else if (has_sent(m, claim.from, claim.upto)) {
    m.judge.weaken_order(m, claim.place);
    claim.kind = Claim::Kind::none;
  }
}

// Packets that are recorded a round trip later were not overtaken by one before the claim.
bool is_long_after(const Moment& m, Instant at) {
  return m.connection.round_known && m.said.at.since(at) > m.connection.round + recorded_late;
}

// Whether the segment was sent after the one with the claim had arrived.
bool replies_to(const Moment& m, const Claim& claim) {
  wire::Segment const& segment = m.segment();
  bool const echoes = claim.stamped && segment.options.has_timestamps &&
                      tick(claim.stamp).before(tick(segment.options.timestamp_echo));
  bool const acks = segment.flags.ack() && claim.fresh_end.after(claim.begin) &&
                    segment.acknowledgment.at_or_after(claim.fresh_end);
  return echoes || acks || is_long_after(m, claim.at);
}

// If a later timestamp of the sender is still below the echoed one, it cannot have sent that value
// before. A packet that was overtaken shows nothing.
void settle_echo(const Moment& m, Claim& claim) {
  wire::Options const& options = m.segment().options;
  if (!options.has_timestamps) {
    return;
  }
  if (tick(options.timestamp_value).before(claim.upto)) {
    claim.kind = is_early(m, claim) || !replies_to(m, claim) ? claim.kind : Claim::Kind::none;
    return;
  }
  if (is_early(m, claim)) {
    m.judge.weaken_order(m, claim.place);
  } else {
    m.judge.weaken_claim(m, claim.place, Ambiguity::lost_packets);
    m.judge.weaken_whole(m);
  }
  claim.kind = Claim::Kind::none;
}

// Whether the ACK was sent after every one that may have released the claim's data: its timestamp
// is later than the one that the data echoes, or it acknowledges some of the data, or it is
// recorded long after it. Without timestamps a second ACK shows that the first was not overtaken.
bool is_later_offer(const Moment& m, Claim& claim) {
  wire::Segment const& segment = m.segment();
  if (segment.acknowledgment.after(claim.begin)) {
    return true;
  }
  if (claim.stamped && segment.options.has_timestamps) {
    return tick(claim.echo).before(tick(segment.options.timestamp_value));
  }
  bool const sure = claim.doubted || is_long_after(m, claim.at);
  claim.doubted = true;
  return sure;
}

// Whether the receiver's right edge shows that no earlier one was further right: edges do not move
// left. That does not hold for a host that may have closed its window for want of memory, as Linux
// does, unless it took a part of the segment, or its window stays closed time and again. Nor does
// it hold for a host that has moved its edge left before.
bool shows_earlier_edges(const Moment& m, const Claim& claim) {
  constexpr std::uint32_t ignored_least = 3;
  if (!claim.shut && !m.speaker.edge_went_left) {
    return true;
  }
  wire::Segment const& segment = m.segment();
  bool const shut = segment.window.value == 0;
  bool const part = claim.single && segment.acknowledgment.after(claim.begin) &&
                    segment.acknowledgment.before(claim.upto);
  bool const stays = claim.was_shut && shut && segment.acknowledgment == claim.from;
  // One ACK counts once, whatever it replies to.
  bool const again = m.other.shut_ignored == 0 || claim.at > m.other.shut_ignored_at;
  if (stays && again) {
    ++m.other.shut_ignored;
    m.other.shut_ignored_at = m.said.at;
  }
  return shut && (part || (stays && m.other.shut_ignored >= ignored_least));
}

// If the receiver's next right edge is still below the data that was sent, the sender did not wait
// for a larger window.
void settle_edge(const Moment& m, Claim& claim) {
  wire::Segment const& segment = m.segment();
  if (!segment.flags.ack() || segment.flags.any_of(wire::flag::rst | wire::flag::syn)) {
    return;
  }
  claim.shut = claim.shut || segment.window.value == 0;
  if (offer_of(m).at_or_after(claim.upto)) {
    if (is_early(m, claim)) {
      m.judge.weaken_order(m, claim.place);
    } else {
      m.judge.weaken_claim(m, claim.place, Ambiguity::lost_packets);
    }
  } else if (is_early(m, claim) && segment.acknowledgment.at_or_before(claim.from)) {
    return;
  } else if (!is_later_offer(m, claim)) {
    return;
  } else if (!shows_earlier_edges(m, claim)) {
    m.judge.weaken_claim(m, claim.place, Ambiguity::unconfirmed);
  }
  claim.kind = Claim::Kind::none;
}

// Whether the claim rests on what is recorded only now.
bool is_recorded_late(const Moment& m, const Claim& claim) {
  wire::Segment const& segment = m.segment();
  wire::Options const& options = segment.options;
  switch (claim.kind) {
    case Claim::Kind::ack:
      return reach_from(m, claim.from).at_or_after(claim.upto);
    case Claim::Kind::block:
      return has_sent(m, claim.from, claim.upto);
    case Claim::Kind::echo:
      return options.has_timestamps && !tick(options.timestamp_value).before(claim.upto);
    case Claim::Kind::edge:
      return segment.flags.ack() && !segment.flags.any_of(wire::flag::rst | wire::flag::syn) &&
             offer_of(m).at_or_after(claim.upto);
    case Claim::Kind::none:
      break;
  }
  return false;
}

// In a capture that lacks no packet only a packet that is recorded late explains a claim.
void settle_whole(const Moment& m, Claim& claim) {
  bool const late = claim.side != m.side && is_recorded_late(m, claim);
  if (late && is_early(m, claim)) {
    m.judge.weaken_claim(m, claim.place, Ambiguity::order);
  }
  claim.kind = late || !is_early(m, claim) ? Claim::Kind::none : claim.kind;
}

std::uint32_t index_of(Claim::Kind kind) {
  return kind == Claim::Kind::ack ? 0 : kind == Claim::Kind::block ? 1 : 2;
}

// Acknowledgment numbers never decrease, so a segment with a lower one was sent earlier than it was
// recorded.
bool acknowledges_less(const Moment& m, Sequence ack) {
  EndpointState const& v = m.speaker;
  bool const latest = v.order_known && m.said.at.since(v.order_at) > recorded_late;
  return (latest && ack.before(v.order_ack)) ||
         (v.orders_before == 2 && ack.before(v.order_before[1]));
}

// Whether the other side's FIN shows that the octets of the claim were never sent.
bool shown_by_fin(const Claim& claim, const EndpointState& other) {
  Sequence const least = claim.kind == Claim::Kind::ack ? claim.upto.previous() : claim.from;
  bool const counts = claim.kind == Claim::Kind::ack || claim.kind == Claim::Kind::block;
  return counts && other.fin_sent && other.fin_end.at_or_before(least);
}

}  // namespace

void await(const Moment& m, const Claim& claim) {
  // No packet is missing, and one end has recorded in the order of what it sent and received.
  bool const exact = m.terms.whole && (m.own || m.speaker.own || m.other.own);
  if (m.terms.is_strict() || exact) {
    return;
  }
  for (Claim& place : m.connection.claims) {
    if (place.kind == Claim::Kind::none) {
      place = claim;
      place.side = m.side;
      place.at = m.said.at;
      place.stamped = m.segment().options.has_timestamps;
      place.stamp = m.segment().options.timestamp_value;
      place.echo = m.segment().options.timestamp_echo;
      place.begin = m.segment().sequence;
      bool const fresh = !m.said.text().empty() && m.said.end().after(m.speaker.sent);
      place.fresh_end = fresh ? m.said.end() : place.begin;
      place.was_shut = m.other.offered && m.other.last_window.empty();
      place.single = m.said.text() <= full_size(m);
      place.left = m.segment().acknowledgment;
      place.left_sent = m.other.text.holds(place.left, place.left.next());
      place.timer_from = m.other.front_known ? m.other.front_at : Instant{};
      return;
    }
  }
  m.judge.weaken_claim(m, claim.place, Ambiguity::unconfirmed);
}

void settle_claims(const Moment& m) {
  if (m.terms.is_strict()) {
    return;
  }
  for (Claim& claim : m.connection.claims) {
    if (m.terms.whole) {
      settle_whole(m, claim);
      continue;
    }
    if (claim.side == m.side) {
      continue;
    }
    switch (claim.kind) {
      case Claim::Kind::ack:
        settle_ack(m, claim);
        break;
      case Claim::Kind::block:
        settle_block(m, claim);
        break;
      case Claim::Kind::echo:
        settle_echo(m, claim);
        break;
      case Claim::Kind::edge:
        settle_edge(m, claim);
        break;
      case Claim::Kind::none:
        break;
    }
  }
}

void note_unheard(const Moment& m, Claim::Kind kind, Sequence from, Sequence upto,
                  std::uint32_t place) {
  if (m.terms.whole) {
    return;
  }
  Unheard& unheard = m.connection.unheard.at(m.side).at(index_of(kind));
  if (!unheard.known) {
    unheard.known = true;
    unheard.place = place;
    unheard.first_at = m.said.at;
  }
  // What was injected comes at once, so another value a round trip later has another cause. Zero is
  // what a host echoes that keeps no timestamp.
  bool const zero = kind == Claim::Kind::echo && upto == tick(0);
  // A block may grow by data that passed.
  bool const more =
      upto.after(unheard.upto) &&
      (kind != Claim::Kind::block || !m.other.text.holds(last_of(from, unheard.upto), upto));
  unheard.made_up =
      unheard.made_up || m.own || zero || (more && is_long_after(m, unheard.first_at));
  unheard.from = from;
  unheard.upto = upto;
  unheard.at = m.said.at;
  unheard.stamped = m.segment().options.has_timestamps;
  unheard.stamp = m.segment().options.timestamp_value;
}

void note_taken_back(const Moment& m) {
  wire::Segment const& segment = m.segment();
  if (!segment.flags.ack() || segment.flags.any_of(wire::flag::rst | wire::flag::syn)) {
    return;
  }
  for (std::uint32_t i = 0; i < Unheard::kinds; ++i) {
    Unheard& unheard = m.connection.unheard.at(m.side).at(i);
    wire::Options const& options = segment.options;
    bool const stamped = unheard.stamped && options.has_timestamps;
    bool const later = stamped ? tick(unheard.stamp).before(tick(options.timestamp_value))
                               : is_long_after(m, unheard.at);
    if (!unheard.known || unheard.made_up || !later) {
      continue;
    }
    bool const echoes = options.has_timestamps && options.timestamp_echo != 0;
    unheard.made_up =
        i == index_of(Claim::Kind::ack) ? segment.acknowledgment.before(unheard.upto)
        : i == index_of(Claim::Kind::block)
            ? options.sack_count == 0 && segment.acknowledgment.at_or_before(unheard.from)
            : echoes && tick(options.timestamp_echo).before(unheard.upto);
    if (i == index_of(Claim::Kind::ack) && unheard.made_up && m.speaker.order_ack == unheard.upto) {
      m.speaker.order_ack = segment.acknowledgment;  // by its timestamp it is no older packet
    }
  }
}

// Merged captures of both ends hold each packet twice with clocks that differ, so some replies are
// recorded long before what they reply to.
void hear_order(const Moment& m) {
  wire::Segment const& segment = m.segment();
  if (m.terms.is_strict() || segment.flags.rst()) {
    return;
  }
  EndpointState& v = m.speaker;
  // Then a lower acknowledgment is no sign of another order.
  bool const in_order = m.terms.whole || v.own || m.other.own;
  if (segment.flags.syn()) {
    bool const late =
        v.spoke_on && v.iss == segment.sequence && m.said.at.since(v.spoke_on_at) > recorded_late;
    // The directions were recorded by clocks that differ: the other has acknowledged this SYN.
    bool const answer = m.other.opening_count != 0 && m.other.openings[0].is_answer;
    bool const known =
        v.begun_at == m.said.at && (m.other.spoke_on || answer) && m.other.offered &&
        segment.sequence.before(m.other.last_ack) &&
        m.said.at.since(answer ? m.other.begun_at : m.other.spoke_on_at) > recorded_late;
    if (!in_order && (late || known)) {
      m.judge.weaken_order(m);
    }
    return;
  }
  v.spoke_on_at = v.spoke_on ? v.spoke_on_at : m.said.at;
  v.spoke_on = true;
  if (!segment.flags.ack()) {
    return;
  }
  v.overtaken = v.overtaken || (v.order_known && segment.acknowledgment.before(v.order_ack));
  if (!in_order && acknowledges_less(m, segment.acknowledgment)) {
    m.judge.weaken_order(m);
  } else if (!v.order_known || segment.acknowledgment.after(v.order_ack)) {
    if (v.order_known && m.said.at.since(v.order_turned_at) >= recorded_late) {
      v.order_before = {v.order_ack, v.order_before[0]};
      v.orders_before = std::min(v.orders_before + 1, 2u);
      v.order_turned_at = m.said.at;
    }
    v.order_known = true;
    v.order_ack = segment.acknowledgment;
    v.order_at = m.said.at;
  }
}

void doubt_early_claims(Connection& connection, Instant now, Violations& violations) {
  for (Claim const& claim : connection.claims) {
    if (claim.kind != Claim::Kind::none && now.since(claim.at) <= recorded_late) {
      violations.weaken(claim.place, Ambiguity::order);
    }
  }
}

void end_claims(const Terms& terms, Connection& connection, Violations& violations) {
  for (Claim& claim : connection.claims) {
    bool const waits = claim.kind != Claim::Kind::none && !terms.whole;
    if (waits && !shown_by_fin(claim, connection.endpoints[1 - claim.side])) {
      violations.weaken(claim.place, Ambiguity::unconfirmed);
    }
    claim.kind = Claim::Kind::none;
  }
}

}  // namespace lockstep::sim::referee
