// Reused ports: decides whether a segment starts a new connection, even if its SYN is missing.
#include <algorithm>

#include "sim/checkers/referee/judges.hpp"

namespace lockstep::sim::referee {
namespace {

// Linux keeps a closed connection's ports this long (TIME-WAIT). A connection that was silent this
// long may have ended unseen.
constexpr Duration kept_after_close = Duration::seconds(60);
// Segments in flight when a reset passed, and replies to them, arrive within this time.
constexpr Duration kept_after_reset = Duration::milliseconds(500);

bool was_reset(const Connection& c) { return c.endpoints[0].resets + c.endpoints[1].resets != 0; }

bool was_closed(const Connection& c) { return c.endpoints[0].fin_sent && c.endpoints[1].fin_sent; }

// Whether `number` is at most `near_most` octets before the end of what the endpoint has sent.
bool has_reached(const EndpointState& endpoint, Sequence number) {
  return !endpoint.begun ||
         (number.at_or_before(endpoint.sent) && endpoint.sent.distance_from(number) <= near_most);
}

bool is_near(const EndpointState& endpoint, Sequence number) {
  std::int32_t const off = number.distance_from(endpoint.sent);
  return !endpoint.begun || (off <= near_most && off >= -near_most);
}

// Whether it repeats the sender's last segment: the FIN, or the last ACK.
bool says_again(const Sighting& said, const EndpointState& v) {
  bool const fin = said.segment.flags.fin() && v.fin_seen && said.end() == v.fin_seen_end;
  bool const ack = said.length().empty() && said.segment.sequence == v.sent && v.offered &&
                   said.segment.acknowledgment == v.last_ack;
  return fin || ack;
}

// Whether a segment without SYN has numbers outside this connection: it belongs to the next one,
// whose handshake the capture lacks.
bool is_foreign(const Connection& c, const Sighting& said, std::uint32_t side) {
  wire::Segment const& segment = said.segment;
  if (!segment.flags.ack() || segment.flags.rst() || said.sum == Sum::bad ||
      said.ip_sum == Sum::bad) {
    return false;
  }
  EndpointState const& v = c.endpoints[side];
  EndpointState const& other = c.endpoints[1 - side];
  // Segments that were in flight arrive after a reset, with numbers near the latest ones.
  Duration const silent = said.at.since(c.last_at);
  if (!was_closed(c) && (!was_reset(c) || silent <= kept_after_reset)) {
    bool const one = is_near(v, segment.sequence);
    bool const two = is_near(other, segment.acknowledgment);
    return was_reset(c) ? !one || !two : !one && !two;
  }
  bool const late = silent > kept_after_close && !says_again(said, v);
  return late || (!has_reached(v, segment.sequence) && !has_reached(other, segment.acknowledgment));
}

}  // namespace

bool goes_on(const Connection& c, const Sighting& said, std::uint32_t side) {
  EndpointState const& v = c.endpoints[side];
  EndpointState const& other = c.endpoints[1 - side];
  wire::Segment const& segment = said.segment;
  bool const next = segment.sequence == v.sent ||
                    (segment.sequence == v.sent.previous() && said.length().count <= 1);
  return v.begun && other.begun && !v.fin_seen && !other.fin_seen && !was_reset(c) && next &&
         segment.flags.ack() && !segment.flags.syn() && segment.acknowledgment == other.sent;
}

bool is_over(const Connection& c) { return was_reset(c) || was_closed(c); }

bool begins_anew(const Connection& c, const Sighting& said, std::uint32_t side) {
  EndpointState const& speaker = c.endpoints[side];
  if (!said.segment.flags.syn()) {
    return (speaker.begun || c.endpoints[1 - side].begun) && is_foreign(c, said, side);
  }
  bool const other_number = speaker.begun && speaker.iss != said.segment.sequence;
  // A host without a clock gives each connection the same number. Before the handshake is complete
  // its SYN may be sent again, also after a reset.
  bool const same_number =
      !said.segment.flags.ack() && (was_closed(c) ? speaker.begun : speaker.spoke_on);
  // A SYN-ACK with another ISS shows that the capture lacks a SYN.
  return (other_number || same_number) &&
         (is_over(c) || said.at.since(c.last_at) > kept_after_close);
}

bool opens_again(const Connection& c, const Sighting& said, std::uint32_t side) {
  EndpointState const& v = c.endpoints[side];
  EndpointState const& other = c.endpoints[1 - side];
  if (!said.segment.flags.syn() || !v.begun) {
    return false;
  }
  if (!said.segment.flags.ack()) {
    bool const late =
        v.iss != said.segment.sequence && v.has_former_iss && v.former_iss == said.segment.sequence;
    return is_over(c) && !late;
  }
  // A late copy of a SYN in an open connection is answered by an ACK, so this answers a new SYN.
  bool const answers = other.begun && said.segment.acknowledgment == other.iss.next();
  bool const restarted = v.iss == said.segment.sequence && v.spoke_on && other.has_former;
  return answers && (other.spoke_on ? v.iss != said.segment.sequence : restarted);
}

bool asks_again(const Connection& c, const Sighting& said, std::uint32_t side) {
  constexpr Duration a_second = Duration::seconds(1);
  EndpointState const& v = c.endpoints[side];
  Duration const silent = said.at.since(c.last_at);
  // The capture may lack the SYN that a SYN-ACK answers.
  bool const another = said.segment.flags.ack()
                           ? silent > a_second
                           : v.iss == said.segment.sequence && silent > recorded_late;
  return said.segment.flags.syn() && v.spoke_on && c.endpoints[1 - side].spoke_on && another;
}

bool is_answered_already(const Connection& c, const Sighting& said, std::uint32_t side) {
  EndpointState const& v = c.endpoints[side];
  EndpointState const& other = c.endpoints[1 - side];
  wire::Segment const& segment = said.segment;
  return segment.flags.syn() && !segment.flags.ack() && v.begun && v.iss != segment.sequence &&
         other.offered && other.last_ack == segment.sequence.next();
}

void renew(Connection& c) {
  for (EndpointState& endpoint : c.endpoints) {
    EndpointState fresh;
    fresh.has_former = endpoint.begun;
    fresh.former = endpoint.sent;
    fresh.has_former_iss = endpoint.begun && !endpoint.middle;
    fresh.former_iss = endpoint.iss;
    fresh.former_stamped = endpoint.stamp_any;
    fresh.former_stamp = endpoint.stamp_highest;
    std::swap(fresh.kept, endpoint.kept);
    fresh.kept.forget();
    endpoint = fresh;
  }
  c.lossy = c.round_known = c.syn_seen = c.resumed = c.asked_again = c.unverified = false;
  c.reused = true;
}

bool may_be_another(const Connection& c, const Sighting& said, std::uint32_t side) {
  Duration const silent = said.at.since(c.last_at);
  bool const begun = c.endpoints[0].begun || c.endpoints[1].begun;
  return begun && !said.segment.flags.syn() &&
         ((silent > kept_after_close && !goes_on(c, said, side)) ||
          (was_reset(c) && silent > kept_after_reset));
}

// Whether after a silence a segment has numbers or a timestamp that this connection cannot have
// reached: if the capture lacks the end of it, and the beginning of the next one on the same ports,
// the numbers of the two may overlap by chance.
bool goes_on_elsewhere(const Connection& c, const Sighting& said, std::uint32_t side) {
  constexpr Duration a_second = Duration::seconds(1);
  constexpr std::uint64_t ticks_in_ms = 10'000;  // of the fastest clocks
  EndpointState const& v = c.endpoints[side];
  EndpointState const& other = c.endpoints[1 - side];
  wire::Segment const& segment = said.segment;
  if (!v.begun || segment.flags.syn() || segment.flags.rst() ||
      said.at.since(c.last_at) <= a_second) {
    return false;
  }
  bool const far = !is_near(v, segment.sequence) ||
                   (segment.flags.ack() && !is_near(other, segment.acknowledgment));
  if (!v.stamp_any || !segment.options.has_timestamps) {
    return far;
  }
  std::uint64_t const most = (said.at.since(v.stamp_highest_at).ns / 1'000'000 + 1) * ticks_in_ms;
  std::uint32_t const step = segment.options.timestamp_value - v.stamp_highest;
  // A paced segment may carry a slightly older timestamp.
  bool const back = step > ~std::uint32_t{0} - paced_ticks;
  return far || (step > most && !back);
}

}  // namespace lockstep::sim::referee
