// Finds a segment's connection, starts it on a SYN, and calls the judges in order.
#include "sim/checkers/referee/referee.hpp"

#include <algorithm>

#include "core/units/check.hpp"
#include "core/units/hash.hpp"
#include "sim/checkers/referee/judges.hpp"

namespace lockstep::sim::referee {
namespace {

// A connection is at most this far from its first place in the table. Without an attacker the
// table, which is at most half full, fills no more than about a hundred places in a row.
constexpr std::uint32_t probes_max = 256;
constexpr std::uint32_t no_place = ~std::uint32_t{0};

std::uint64_t hash_of(const std::array<Endpoint, 2>& ends) {
  constexpr std::uint64_t odd = 0x9e37'79b9'7f4a'7c15;  // so that no two bits simply cancel out
  TableHash hash({});
  for (Endpoint const& end : ends) {
    hash.add(end.address.high * odd + end.address.low);
  }
  hash.add(std::uint64_t{ends[0].port.value} << 16 | ends[1].port.value);
  return hash.finish();
}

// A pure ACK of a SYN that is the first segment after the sender's own SYN.
bool acks_syn_alone(const Moment& m) {
  bool alone = false;
  for (std::uint32_t i = 0; i < m.other.opening_count; ++i) {
    alone = alone || m.other.openings[i].iss.next() == m.segment().acknowledgment;
  }
  return alone && m.segment().sequence == m.speaker.iss.next() && m.said.length().empty();
}

void begin(const Moment& m) {
  EndpointState& v = m.speaker;
  if (!v.begun || v.iss != m.segment().sequence) {
    v.has_former = v.begun || v.has_former;
    // Of two SYNs that a host with cookies has answered, either may become the connection; a
    // deployed client has given up the former. What was acknowledged before is unknown if it was
    // not judged.
    bool const either =
        m.terms.is_strict() || !v.offered || v.last_ack == m.segment().acknowledgment;
    v.has_rival = v.begun ? (!v.spoke_on && either) || v.middle : v.has_rival;
    v.spoke_on = false;
    v.former = v.begun ? v.sent : v.former;
    v.begun = true;
    v.begun_at = m.said.at;
    v.middle = false;
    v.iss = v.origin = m.segment().sequence;
    v.sack = false;
    v.sent = m.said.end();
    v.limited = v.offered = v.fin_sent = v.was_reset = v.reset_due = v.ack_due = false;
    v.ack_top_known = false;
    v.full_waiting = v.full_acks = v.stretched = 0;
    v.urgent = v.stamp_known = v.small = v.front_known = v.recovering = false;
    // Octets of an earlier connection with the same numbers must not be compared.
    v.kept.forget();
  }
  v.scaled = m.segment().options.has_window_scale;
  v.scale = m.segment().options.window_scale;
  v.sack = v.sack || m.segment().options.has_sack_permitted;
}

// Whether it opens another connection while this one is in use: its sender has sent more than a
// SYN, or the other has answered that SYN, or the SYN-ACK answers another SYN, which was not seen.
bool is_second(const EndpointState& v, const EndpointState& other, const Sighting& said) {
  if (!said.segment.flags.syn() || !v.begun || v.iss == said.segment.sequence) {
    return false;
  }
  bool const answered = other.offered && other.last_ack == v.iss.next();
  bool const unseen =
      said.segment.flags.ack() && v.offered && said.segment.acknowledgment != v.last_ack;
  return v.spoke_on || answered || unseen;
}

// Whether both of its numbers are those of another connection: they lie before the first ones of
// this one, or beyond all that was seen, while the other side has sent nothing but its SYN.
bool is_strange(const EndpointState& v, const EndpointState& other, const Sighting& said) {
  wire::Segment const& segment = said.segment;
  bool const known = v.begun && other.begun && !v.middle && !other.middle && !v.is_old() &&
                     !other.is_old() && said.sum != Sum::bad;
  if (!known || !segment.flags.ack() || segment.flags.any_of(wire::flag::syn | wire::flag::rst)) {
    return false;
  }
  bool const before = segment.sequence.before(v.iss) && segment.acknowledgment.before(other.iss);
  bool const silent = other.sent == other.iss.next();
  return before ||
         (silent && segment.sequence.after(v.sent) && segment.acknowledgment.after(other.sent));
}

// Resets are left out: a host that has no connection may send them with another hop limit. So are
// copies, which may have been captured behind a router.
void note_hop_limit(EndpointState& v, const Sighting& said) {
  if (said.hop_limit == 0 || said.copy || said.segment.flags.rst()) {
    return;
  }
  v.hop_limits.take({said.at, said.segment.sequence, said.end(), said.segment.acknowledgment,
                     said.segment.window.value, said.segment.flags.bits, said.identification,
                     said.hop_limit});
}

// A SYN with the numbers of a connection in use, which does not end it: its next sequence number,
// and an acknowledgment of the latest data. One that acknowledges only the other's SYN, or that the
// other has acknowledged alone, may be an answer that is recorded late.
bool is_stray_syn(const Moment& m) {
  constexpr std::int32_t recent = 1 << 16;
  EndpointState const& v = m.speaker;
  wire::Segment const& segment = m.segment();
  auto const latest = [](Sequence number, const EndpointState& of) {
    std::int32_t const back = of.sent.distance_from(number);
    return back >= 0 && back < recent;
  };
  bool const late = segment.acknowledgment == m.other.iss.next() ||
                    (m.other.offered && m.other.last_ack == segment.sequence.next());
  return segment.flags.syn() && segment.flags.ack() && v.begun && v.spoke_on && !late &&
         m.other.opening_count == 1 && v.opening_count == 1 && segment.sequence != v.iss &&
         latest(segment.sequence, v) && latest(segment.acknowledgment, m.other) &&
         !m.connection.asked_again && !(m.terms.whole && m.connection.reused) &&
         !begins_anew(m.connection, m.said, m.side);
}

// Whether the sender's state cannot be known from the wire, so that the segment is not judged.
bool is_unknown(const Moment& m) {
  EndpointState& v = m.speaker;
  wire::Segment const& segment = m.segment();
  // A host with SYN cookies may have answered SYNs with several ISSs, and any of these may become
  // the connection. The wire does not show which.
  bool const answers = segment.flags.syn() && segment.flags.ack();
  v.many_answers = answers ? m.may.cookies && v.has_rival : v.many_answers && !segment.flags.syn();
  bool const old = v.has_former && segment.sequence == v.former && m.said.length().empty();
  // A SYN-ACK from a cookie or the SYN cache waits in the reply queue, and segments of the
  // connection may overtake it.
  bool const cached = m.may.syn_cache && (answers || acks_syn_alone(m));
  bool const overtaken = ((answers && m.may.cookies) || cached) && v.offered &&
                         v.last_ack.after(segment.acknowledgment);
  return v.many_answers || !v.begun || old || overtaken;
}

}  // namespace

std::uint32_t Referee::place_of(const std::array<Endpoint, 2>& ends) const {
  auto const mask = static_cast<std::uint32_t>(places_.size() - 1);
  auto at = static_cast<std::uint32_t>(hash_of(ends)) & mask;
  for (std::uint32_t i = 0; i < probes_max; ++i) {
    if (places_[at] == 0 || connections_[places_[at] - 1].ends == ends) {
      return at;
    }
    at = (at + 1) & mask;
  }
  return no_place;
}

void Referee::grow() {
  places_.assign(places_.empty() ? 64 : places_.size() * 2, 0);
  // In the order in which they were added before, so that each is as near to its first place.
  for (std::uint32_t i = 0; i < connections_.size(); ++i) {
    std::uint32_t const at = place_of(connections_[i].ends);
    CHECK(at != no_place);
    places_[at] = i + 1;
  }
}

Connection* Referee::connection_of(const Sighting& said, std::uint32_t& side) {
  side = said.destination < said.source ? 1 : 0;
  std::array<Endpoint, 2> ends{said.source, said.destination};
  if (side == 1) {
    std::swap(ends[0], ends[1]);
  }
  if ((connections_.size() + 1) * 2 > places_.size()) {
    grow();
  }
  std::uint32_t const at = place_of(ends);
  if (at == no_place) {
    return nullptr;
  }
  std::uint32_t& place = places_[at];
  if (place == 0) {
    if (connections_.size() == terms_.connections_max) {
      return nullptr;
    }
    connections_.emplace_back();
    connections_.back().ends = ends;
    connections_.back().last_at = said.at;
    place = static_cast<std::uint32_t>(connections_.size());
  }
  return &connections_[place - 1];
}

// Another connection with the same addresses and ports begins, in a capture that lacks nothing.
void Referee::begin_again(Connection& c, const Sighting& said, std::uint32_t side) {
  bool const other_number =
      !said.segment.flags.ack() && c.endpoints[side].iss != said.segment.sequence;
  doubt_early_claims(c, said.at, violations_);
  end_claims(terms_, c, violations_);
  weaken_unheard(c);
  renew(c);
  c.reused = !other_number;
  if (said.segment.flags.ack()) {  // the SYN that it answers was taken for one of the earlier one
    EndpointState& asked = c.endpoints[1 - side];
    asked.begun = true;
    asked.begun_at = said.at;
    asked.iss = asked.origin = said.segment.acknowledgment.previous();
    asked.sent = said.segment.acknowledgment;
  }
}

// The segment may be of another connection with the same addresses and ports.
void Referee::tell_apart(Connection& c, const Sighting& said, std::uint32_t side) {
  if (begins_anew(c, said, side)) {
    end_claims(terms_, c, violations_);
    weaken_unheard(c);
    weaken_edited(c);
    renew(c);
    c.first_place = static_cast<std::uint32_t>(violations_.kept().size());
  }
  if (may_be_another(c, said, side) || (!terms_.is_strict() && goes_on_elsewhere(c, said, side))) {
    end_claims(terms_, c, violations_);
    c.resumed = true;
  }
  // Two connections with equal addresses are alive, as beside a transparent proxy.
  EndpointState const& speaker = c.endpoints[side];
  EndpointState const& other = c.endpoints[1 - side];
  bool const second = is_second(speaker, other, said);
  if (second) {  // nothing that follows tells about what came before
    end_claims(terms_, c, violations_);
  }
  c.reused = c.reused || second || is_strange(speaker, other, said);
}

// A middlebox may have sent the packets before this one, as a proxy does that makes the handshake.
void Referee::see_hop_limit(Connection& c, const Sighting& said, std::uint32_t side, bool own) {
  EndpointState& speaker = c.endpoints[side];
  bool const differed = speaker.hop_limits.differ();
  note_hop_limit(speaker, said);
  if (!differed && speaker.hop_limits.differ() && !own && !terms_.whole) {
    violations_.weaken_speaker(static_cast<std::uint32_t>(&c - connections_.data()), said.source,
                               c.first_place, Ambiguity::middlebox);
  }
}

// Whether another connection begins, on the same ports; not in a simulation, which shows all of it.
void Referee::find_beginning(Connection& c, const Sighting& said, std::uint32_t side) {
  if (!terms_.whole) {
    tell_apart(c, said, side);
  } else if (is_answered_already(c, said, side)) {
    doubt_early_claims(c, said.at, violations_);
    c.resumed = true;
  } else if (opens_again(c, said, side)) {
    begin_again(c, said, side);
  }
  bool const all_seen = terms_.whole && said.segment.flags.ack();  // it answers no other SYN
  if (!all_seen && asks_again(c, said, side)) {
    end_claims(terms_, c, violations_);
    c.asked_again = true;
    c.asked_by = side;
  } else if (c.asked_again && side != c.asked_by && goes_on(c, said, side)) {
    c.asked_again = false;
  }
  if (!said.copy) {  // a router's copy in another VLAN is one
    c.resumed = c.resumed || c.networks.at(side).value_or(said.network) != said.network;
    c.networks.at(side) = c.networks.at(side).value_or(said.network);
  }
}

void Referee::see(const Sighting& said, const Allowances* own) {
  began_ = earlier(began_, said.at);
  if (said.source == said.destination) {
    return;
  }
  std::uint32_t side = 0;
  Connection* const found = connection_of(said, side);
  if (found == nullptr) {
    ++unjudged_;
    return;
  }
  Connection& c = *found;
  if (!terms_.is_strict()) {
    find_beginning(c, said, side);
  }
  EndpointState& speaker = c.endpoints[side];
  see_hop_limit(c, said, side, own != nullptr);
  c.unverified = c.unverified || said.sum == Sum::unknown || said.ip_sum == Sum::unknown;
  ends_ += said.segment.flags.any_of(wire::flag::fin | wire::flag::rst) ? 1 : 0;
  static constexpr Allowances anything;
  Moment m{said,
           speaker,
           c.endpoints[1 - side],
           c,
           side,
           own != nullptr,
           own != nullptr ? *own : anything,
           terms_,
           *this};
  if (said.copy) {
    ++m.speaker.segments;
    return;
  }
  if (!judge_alone(m)) {
    speaker.odd_options = speaker.odd_options || (!said.options_good && !terms_.is_strict());
    hear_damaged(m);
    return;
  }
  m.speaker.own = m.speaker.own || own != nullptr;
  // A whole capture at a host may still show only a part of other hosts' packets.
  m.alone = false;
  note_taken_back(m);
  bool const judged =
      own != nullptr || (terms_.others && (!terms_.whole || m.other.own || !terms_.at_host));
  if (judged && is_stray_syn(m)) {
    see_stray(m);
    return;
  }
  if (judged) {
    judge(m);
  } else if (said.segment.flags.syn() && !said.segment.flags.rst()) {
    begin(m);
  }
  hear_order(m);
  hear_numbers(m);
  hear_stamps(m);
  if (terms_.likely) {
    hear_marks(m);
    hear_time(m);
    hear_progress(m);
    hear_silence(m);
  }
  c.last_at = said.at;
}

//= rfc9293#3.4
//# 9293:P-CTL-ONCE a SYN is sent at the beginning, and retransmitted with the same number
void Referee::see_stray(const Moment& m) {
  call(m, Rule::syn_within, Ambiguity::none, {m.speaker.sent.value, m.segment().sequence.value});
  hear_stray(m);
  m.connection.last_at = m.said.at;
}

FirstNumbers* Referee::first_numbers_of(const IpAddress& host) {
  constexpr std::size_t first_numbers_max = 4'096;
  auto const at = std::lower_bound(
      first_numbers_.begin(), first_numbers_.end(), host,
      [](const FirstNumbers& track, const IpAddress& address) { return track.host < address; });
  if (at != first_numbers_.end() && at->host == host) {
    return &*at;
  }
  if (first_numbers_.size() == first_numbers_max) {
    return nullptr;
  }
  FirstNumbers fresh;
  fresh.host = host;
  return &*first_numbers_.insert(at, fresh);
}

void Referee::judge(Moment& m) {
  judge_resets(m);
  if (m.segment().flags.rst()) {
    forgive_checksums(m);
    if (terms_.likely) {
      judge_silence(m);
    }
    return;
  }
  if (m.segment().flags.syn()) {
    if (terms_.likely) {
      if (FirstNumbers* const track = first_numbers_of(m.said.source.address)) {
        judge_first_number(m, *track);
      }
    }
    begin(m);
  } else if (!m.speaker.begun && !terms_.whole) {
    m.speaker.begun = m.speaker.middle = true;
    m.speaker.iss = m.speaker.origin = m.segment().sequence.previous();
    m.speaker.sent = m.segment().sequence;
  }
  if (is_unknown(m)) {
    return;
  }
  judge_stamps(m);
  judge_marks(m);
  if (terms_.likely) {
    judge_time(m);
    judge_amounts(m);
    judge_silence(m);
    judge_progress(m);
  }
  judge_octets(m);
  judge_numbers(m);
}

void Referee::end() {
  for (Connection& c : connections_) {
    weaken_edited(c);
    weaken_unheard(c);
    end_claims(terms_, c, violations_);
  }
}

// Whether a middlebox may have sent the segment in its sender's name. Firewalls, and routers that
// do not know the connection, do so with resets, also where no packet is missing.
bool Referee::may_be_foreign(const Moment& m) const {
  if (m.own || terms_.is_strict()) {
    return false;
  }
  HopLimits const& limits = m.speaker.hop_limits;
  bool const reset = m.segment().flags.rst() && !m.of_listener;
  bool const alone = !limits.known() && !terms_.whole;
  bool const foreign_reset = reset && (alone || !limits.all_are(m.said.hop_limit));
  return foreign_reset || (limits.differ() && !terms_.whole);
}

std::uint32_t Referee::add(const Moment& m, Violation violation) {
  if (static_cast<std::uint32_t>(violation.rule) == terms_.without) {
    return terms_.violations_max;
  }
  bool const another = m.connection.resumed || m.connection.asked_again;
  if (violation.ambiguity == Ambiguity::none && another && !m.alone) {
    violation.ambiguity = Ambiguity::middle;
  }
  if (violation.ambiguity == Ambiguity::none && may_be_foreign(m)) {
    violation.ambiguity = Ambiguity::middlebox;
  }
  // At its sender nothing has changed yet.
  bool const verified = !m.connection.unverified || (m.own && m.alone) || terms_.whole;
  if (violation.ambiguity == Ambiguity::none && !verified) {
    violation.ambiguity = Ambiguity::damaged;
  }
  std::uint8_t& reported = m.speaker.reported[static_cast<std::uint32_t>(violation.rule)]
                                             [static_cast<std::uint32_t>(violation.standing())];
  violation.connection = static_cast<std::uint32_t>(&m.connection - connections_.data());
  violation.packet = m.said.packet;
  violation.at = m.said.at;
  violation.speaker = m.of_listener ? m.said.destination : m.said.source;
  violation.listener = m.of_listener ? m.said.source : m.said.destination;
  if (reported >= terms_.reported_max) {
    return violations_.count_only(violation);
  }
  ++reported;
  return violations_.add(violation);
}

std::uint32_t Referee::call(const Moment& m, Rule rule, Ambiguity ambiguity, Disagreement numbers) {
  Violation violation;
  violation.rule = rule;
  violation.ambiguity = ambiguity;
  violation.numbers = numbers;
  return add(m, violation);
}

std::uint32_t Referee::call_whole(const Moment& m, Rule rule, Ambiguity ambiguity,
                                  Disagreement numbers) {
  Violation violation;
  violation.rule = rule;
  violation.rests_on_all = true;
  violation.rests_on_whole = !terms_.whole;
  // Of a side from which nothing came, the packets have other addresses here, as behind a redirect
  // to a local proxy.
  bool const alone = m.other.segments == 0 && !m.segment().flags.syn() && !terms_.is_strict();
  Ambiguity const middle = alone ? Ambiguity::middle : ambiguity_of_middle(m);
  Ambiguity const order = m.connection.disordered ? Ambiguity::order : middle;
  Ambiguity const lossy = m.connection.lossy ? Ambiguity::lost_packets : order;
  // What arrived with an illegal option may have been taken or not: RFC 9293 3.1 only suggests a
  // reset (MUST-7).
  bool const unsure = lossy == Ambiguity::none && m.other.odd_options;
  Ambiguity const known = unsure ? Ambiguity::hidden : lossy;
  violation.ambiguity = ambiguity != Ambiguity::none ? ambiguity : known;
  violation.numbers = numbers;
  return add(m, violation);
}

void Referee::weaken_whole(const Moment& m) {
  if (!m.connection.lossy && !terms_.whole) {
    m.connection.lossy = true;
    violations_.weaken_connection(static_cast<std::uint32_t>(&m.connection - connections_.data()),
                                  Ambiguity::lost_packets, m.connection.first_place);
  }
}

void Referee::weaken_checksum(EndpointState& speaker, std::uint32_t place) {
  if (violations_.weaken(place, Ambiguity::offload)) {
    --speaker.reported[static_cast<std::uint32_t>(violations_.kept()[place].rule)]
                      [static_cast<std::uint32_t>(Standing::certain)];
  }
}

// If no data of the connection, or no segment of a side, has a right checksum, the capture may have
// been edited, or hardware fills the checksums in. Missing ACKs do not contradict that: after a
// reset or on a dead path there are none.
void Referee::weaken_edited(Connection& c) {
  if (terms_.whole) {
    return;
  }
  bool const good_text = c.endpoints[0].good_text || c.endpoints[1].good_text;
  for (EndpointState& v : c.endpoints) {
    for (Spoiled const& spoiled : v.spoiled) {
      if (spoiled.waits && (!v.good_sum || (!good_text && !spoiled.text.empty()))) {
        weaken_checksum(v, spoiled.place);
      }
    }
  }
}

void Referee::weaken_unheard(Connection& c) {
  constexpr std::array<Rule, Unheard::kinds> rules{Rule::ack_of_unheard, Rule::sack_of_unheard,
                                                   Rule::echo_unheard};
  for (std::uint32_t side = 0; side < c.unheard.size(); ++side) {
    for (std::uint32_t i = 0; i < Unheard::kinds; ++i) {
      Unheard const& unheard = c.unheard.at(side).at(i);
      if (unheard.known && !unheard.made_up) {
        violations_.weaken_rule(static_cast<std::uint32_t>(&c - connections_.data()),
                                c.ends.at(side), rules.at(i), unheard.place, Ambiguity::middlebox);
      }
    }
  }
  c.unheard = {};
}

void Referee::weaken_claim(const Moment& m, std::uint32_t place, Ambiguity why) {
  if (place >= violations_.kept().size()) {
    return;
  }
  Standing const was = violations_.kept()[place].standing();
  if (violations_.weaken(place, why)) {
    Violation const& violation = violations_.kept()[place];
    EndpointState& accused = violation.speaker == m.said.source ? m.speaker : m.other;
    --accused.reported[static_cast<std::uint32_t>(violation.rule)][static_cast<std::uint32_t>(was)];
  }
}

void Referee::weaken_order(const Moment& m, std::uint32_t place) {
  weaken_claim(m, place, Ambiguity::order);
  weaken_order(m);
}

void Referee::weaken_order(const Moment& m) {
  if (!m.connection.disordered && !terms_.whole) {
    m.connection.disordered = true;
    violations_.weaken_connection(static_cast<std::uint32_t>(&m.connection - connections_.data()),
                                  Ambiguity::order, m.connection.first_place);
  }
}

bool Referee::may_keep(const Moment& m, std::uint64_t more) {
  // One look at all connections for each eighth of them that ends.
  if (kept_ + more > terms_.kept_total_max && ends_ * 8 > connections_.size()) {
    ends_ = 0;
    forget_what_is_over(m.connection);
  }
  bool const room = kept_ + more <= terms_.kept_total_max;
  kept_ += room ? more : 0;
  return room;
}

void Referee::forget_what_is_over(const Connection& but) {
  for (Connection& connection : connections_) {
    for (EndpointState& endpoint : connection.endpoints) {
      if (&connection != &but && is_over(connection)) {
        kept_ -= endpoint.kept.size();
        endpoint.kept = {};
      }
    }
  }
}

}  // namespace lockstep::sim::referee
