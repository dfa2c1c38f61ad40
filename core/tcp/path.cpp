// Path MTU discovery of a connection.
#include "core/tcp/path.hpp"

#include <algorithm>

#include "core/tcp/lifecycle.hpp"
#include "core/tcp/opening/syn_cache.hpp"
#include "core/tcp/output.hpp"
#include "core/tcp/recovery/sack.hpp"

namespace lockstep::tcp {
namespace {

Connection* find_quoted(Engine& e, const internet::IcmpError& error, std::uint16_t local_address) {
  FourTuple const& quoted = error.quoted;
  TableEntry const found = e.demux.find(e.demux.hash_of(quoted), [&](TableEntry candidate) {
    if (candidate.kind != EntryKind::connection) {
      return false;
    }
    Connection const& c = e.connections[candidate.index];
    return c.remote == quoted.remote.address && c.remote_port == quoted.remote.port &&
           c.local_port == quoted.local.port && c.local_address == local_address;
  });
  return found.kind == EntryKind::connection ? &e.connection(found.index) : nullptr;
}

// The path MTU given by the message; 0 if it is not plausible.
std::uint16_t reported_mtu(const Engine& e, const Connection& c, const internet::IcmpError& error) {
  std::uint16_t const least = e.paths.least_to(c.remote);
  if (!c.remote.is_v4()) {
    //= rfc8201#4
    //# 8201:PMTU-2 less than 1280 is discarded
    return error.mtu < least ? std::uint16_t{0} : error.mtu;
  }
  //= rfc1191#3
  //# 1191:PMTU-6 a router that gives no MTU: the next plateau below the size sent
  std::uint16_t const supposed =
      e.config.path_mtu_plateaus ? internet::plateau_below(error.quoted_bytes) : least;
  std::uint16_t const reported = error.mtu != 0 ? error.mtu : supposed;
  //= rfc1191#3
  //# 1191:PMTU-3 never below 68, nor below Config's minimum, because the message may be forged
  return std::max(reported, least);
}

// Lowers the path MTU: smaller segments from now on, and data in flight is retransmitted.
//= rfc1191#6.4
//# 1191:PMTU-10 by slow start up to the previous window: a smaller MTU is no congestion
//= rfc8201#5.4
//# 8201:PMTU-9 so ssthresh is not lowered
void apply_mtu(Engine& e, Connection& c, std::uint16_t mtu) {
  //= rfc1191#3
  //# 1191:PMTU-5 smaller packets elicit no more of these messages
  //# 1191:PMTU-1 the estimate becomes the reported MTU
  //= rfc8201#4
  //# 8201:PMTU-3 for IPv6 too
  e.paths.lower(c.remote, mtu, e.state->now);
  follow_path(e, c);
  InFlightState& a = e.active(c);
  if (!synchronized(c.state)) {
    return;
  }
  if (e.config.path_mtu_slow_start) {
    c.congestion.ssthresh = most(c.congestion.ssthresh, c.congestion.cwnd);
    c.congestion.cwnd = Bytes{c.mss};
  }
  a.timing = false;
  if (!c.sack || !send_all_again(e, c)) {
    a.retransmit_next = c.send.una;
    a.retransmit_end = c.send.nxt;
  }
  make_ready(e, c);
}

// The unit of Connection::path_until. If a connection sends nothing for some 22 steps and more, its
// limit may be taken for a new one: then it ends later, but never too early.
std::uint64_t step_ns(const Engine& e) { return e.paths.age().ns / path_steps; }

// The end of a limit, rounded up.
std::uint8_t steps_until(const Engine& e, Instant until) {
  return static_cast<std::uint8_t>((until.ns / step_ns(e) + 1) % path_step_values);
}

bool limit_holds(const Engine& e, const Connection& c) {
  std::uint64_t const now = e.state->now.ns / step_ns(e);
  std::uint64_t const left = (c.path_until - now) % path_step_values;
  return left != 0 && left <= path_steps + 2;  // both numbers are rounded
}

}  // namespace

void follow_path(Engine& e, Connection& c) {
  //= rfc8201#5.2
  //# 8201:PMTU-7 initially the link MTU; a decrease applies to all users of the path
  internet::PathMtus::Estimate const estimate = e.paths.look_up(c.remote, e.state->now);
  std::uint16_t const mtu = estimate.mtu;
  bool const limited = mtu == 0 && c.path_limited && !estimate.expired && limit_holds(e, c);
  if (mtu != 0) {
    c.path_until = steps_until(e, estimate.until) & (path_step_values - 1);
  }
  //= rfc1191#3.1
  //# 1191:PMTU-13 never more than the peer's MSS
  //= rfc4861#6.3.4
  //# 4861:ND-39 nor more than the link carries, for a connection from before the advertisement, too
  std::uint32_t size = mss_most(e, c);
  if (mtu != 0) {
    size = std::min(size, mtu - header_bytes(c));
  } else if (limited) {
    //= rfc1191#3
    //# 1191:PMTU-4 no increase is tried too early, even if the table had no place for the entry
    //= rfc8201#4
    //# 8201:PMTU-5 the same
    size = std::min(size, c.mss + steady_options_bytes(c).count);
  }
  c.path_limited = mtu != 0 || limited;
  if (c.mss_max == 0) {
    return;
  }
  size -= steady_options_bytes(c).count;
  if (e.config.segment_half_window && synchronized(c.state)) {
    size = std::min(size, half_window_of(c));
  }
  if (size == c.mss) {
    return;
  }
  //= rfc1191#6.3
  //# 1191:PMTU-12 a larger estimate retransmits nothing
  c.mss = static_cast<std::uint16_t>(size);
  if (synchronized(c.state)) {
    // At least one segment of the new size (ssthresh: two): with less nothing could be sent.
    c.congestion.cwnd = most(c.congestion.cwnd, Bytes{c.mss});
    c.congestion.ssthresh = most(c.congestion.ssthresh, Bytes{2u * c.mss});
  }
}

namespace {

// The same for a connection in the SYN cache; only its SYN-ACK can be quoted.
Drop process_half_open_pmtu(Engine& e, const internet::IcmpError& error,
                            std::uint16_t local_address) {
  Index const at = find_half_open(e, error.quoted, local_address);
  if (at == nil) {
    return Drop::icmp_quote_unknown;
  }
  Connection c = view_of(e, e.half_opens[at]);
  if (error.quoted_sequence != c.send.iss) {
    return Drop::icmp_quote_outside;
  }
  follow_path(e, c);
  std::uint16_t const mtu = reported_mtu(e, c, error);
  if (mtu == 0 || mtu >= packet_bytes(c)) {
    return Drop::icmp_mtu_refused;
  }
  e.paths.lower(c.remote, mtu, e.state->now);
  return Drop::none;
}

}  // namespace

namespace {

// Whether a SYN with data (RFC 7413) is in flight, and nothing that followed it.
bool sent_early_data(const Connection& c, const InFlightState& a) {
  return c.state == State::syn_sent && c.send.nxt != c.send.iss.next() && a.timing;
}

// The length of that packet. Its options are written in the same way again.
std::uint32_t early_packet_bytes(const Engine& e, Connection& c) {
  SegmentPlan syn;
  syn.kind = PlanKind::data;
  syn.sequence = c.send.iss;
  syn.syn = true;
  syn.data = c.send.nxt.since(c.send.iss.next());
  return header_bytes(c) + options_bytes(options_of(e, c, syn, {})).count + syn.data.count;
}

// It was too big: the plain SYN follows at once, and its data after the handshake. That is no
// failure of Fast Open, and no timeout.
//= rfc8201#4
//# 8201:PMTU-3 the estimate becomes the reported MTU
//= rfc1191#3
//# 1191:PMTU-1 for IPv4 too
void shrink_early_packet(Engine& e, Connection& c, std::uint16_t mtu) {
  InFlightState& a = e.active(c);
  e.paths.lower(c.remote, mtu, e.state->now);
  a.fast_open_used = false;
  a.timing = false;
  send_syn_again(e, c);
}

}  // namespace

//= rfc9293#3.7.2
//# 9293:P-PMTUD path MTU discovery for both families
//= rfc7323#5.7
//# 7323:TS-22 compatible with timestamps and PAWS
Drop process_packet_too_big(Engine& e, const internet::IcmpError& error,
                            std::uint16_t local_address) {
  Connection* const found = find_quoted(e, error, local_address);
  if (found == nullptr) {
    return process_half_open_pmtu(e, error, local_address);
  }
  Connection& c = *found;
  //= rfc5927#4.1
  //# 5927:ICMP-1 the quoted sequence number is in flight
  //= rfc8201#4
  //# 8201:PMTU-6 the quoted packet was actually sent
  bool const in_flight =
      error.quoted_sequence.at_or_after(c.send.una) && error.quoted_sequence.before(c.send.nxt);
  if (!in_flight || c.active == nil) {
    return Drop::icmp_quote_outside;
  }
  std::uint16_t const mtu = reported_mtu(e, c, error);
  InFlightState& a = e.active(c);
  bool const early = sent_early_data(c, a);
  std::uint32_t const sent = early ? early_packet_bytes(e, c) : packet_bytes(c);
  //= rfc1191#3
  //# 1191:PMTU-2 the estimate is never raised by a message
  //= rfc8201#4
  //# 8201:PMTU-4 nor for IPv6
  //= rfc1191#6.4
  //# 1191:PMTU-11 only the first message of a burst counts
  if (mtu == 0 || mtu >= sent) {
    return Drop::icmp_mtu_refused;
  }
  if (early) {
    shrink_early_packet(e, c, mtu);
    return Drop::none;
  }
  //= rfc5927#7.2
  //# 5927:ICMP-5 if data of that size was acknowledged before, wait for a timeout as proof
  bool const proven = synchronized(c.state) && c.send.una != c.send.iss.next();
  if (!proven || c.retries != 0) {
    apply_mtu(e, c, mtu);
  } else {
    a.pending_mtu = mtu;
    a.pending_sequence = error.quoted_sequence;
  }
  return Drop::none;
}

void apply_pending_mtu(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  std::uint16_t const mtu = a.pending_mtu;
  a.pending_mtu = 0;
  //= rfc5927#7.2
  //# 5927:ICMP-6 discarded once the quoted data was acknowledged
  bool const stalled = a.pending_sequence.at_or_after(c.send.una);
  if (stalled && mtu < packet_bytes(c)) {
    apply_mtu(e, c, mtu);
  }
}

}  // namespace lockstep::tcp
