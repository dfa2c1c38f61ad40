// SEGMENT ARRIVES in LISTEN (RFC 9293 3.10.7.2).
#include <algorithm>

#include "core/tcp/accounts.hpp"
#include "core/tcp/arrives.hpp"
#include "core/tcp/backlog.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/opening/cookies.hpp"
#include "core/tcp/opening/fast_open.hpp"
#include "core/tcp/opening/isn.hpp"
#include "core/tcp/opening/syn_cache.hpp"
#include "core/tcp/output.hpp"
#include "core/tcp/reassembly.hpp"
#include "core/tcp/replies.hpp"
#include "core/tcp/time_wait.hpp"

namespace lockstep::tcp {
namespace {

Index find_exact(const Engine& e, const Local& local) {
  TableEntry const found = e.demux.find(Demux::listener_hash(local), [&](TableEntry candidate) {
    if (candidate.kind != EntryKind::listener) {
      return false;
    }
    Local const& other = e.listeners[candidate.index].local;
    return other.address == local.address && other.port == local.port &&
           other.remote == local.remote;
  });
  return found.kind == EntryKind::listener ? found.index : nil;
}

// Whether there is a full record for a connection whose peer has proved nothing yet. Such
// connections may use half of either pool if a smaller record or a cookie can replace theirs. The
// other half is for handshakes that complete and for established connections.
bool has_record_to_spare(const Engine& e) {
  Config const& config = e.config;
  bool const less = config.syn_cookies != SynCookies::off || config.syn_cache_max.value != 0;
  std::uint32_t const pool = std::min(config.connections_max.value, config.active_max.value);
  bool const share = !less || e.half_open_records().count() < std::max(pool / 2, 1u);
  return share && e.connections.available() != 0 && e.actives.available() != 0;
}

// Whether the listener and the pools have room for one more connection: Drop::none, or the reason.
Drop room_for(Engine& e, const Listener& listener, bool reopens) {
  //= rfc9293#3.4.2
  //# 9293:P-QUIET no sequence number is assigned during the quiet time
  if (in_quiet_time(e)) {
    return Drop::tcp_quiet_time;
  }
  //= rfc4987#3.2
  //# 4987:SYN-1 the backlog bounds the number of half-open connections
  if (listener.pending >= listener.pending_max) {
    return Drop::tcp_listen_full;
  }
  // A SYN that reopens a TIME-WAIT is of a known peer, by its sequence number or timestamp, and no
  // cookie can answer it: a half-open connection of a flood gives way to it.
  bool const room = reopens ? make_room_for_one(e) : has_record_to_spare(e);
  return room ? Drop::none : Drop::tcp_connections_full;
}

// Whether so many half-open connections have full records that the next one goes into the SYN
// cache.
bool crowded(const Listener& listener) {
  return listener.pending - listener.complete >= listener.records_max;
}

// Answers a SYN without a full record: with a record of the SYN cache or with a cookie. False if
// neither can. A cookie is preferred to the rest of the backlog, which a flood would fill.
//= rfc4987#3.7
//# 4987:SYN-6 records while few are half open, then the cache, then cookies
[[gnu::cold]] bool open_without_record(Engine& e, Index at_listener, const InboundSegment& arrival,
                                       Drop refused) {
  Listener& listener = e.listeners[at_listener];
  // Connections that wait to be accepted fill the backlog: one more could not be accepted.
  if (refused == Drop::tcp_quiet_time || accept_queue_full(listener)) {
    return false;
  }
  bool const pressed = refused != Drop::none;
  SynCookies const cookies = e.config.syn_cookies;
  // A valid Fast Open cookie proves the source address, so the SYN gets a full record.
  if (cookies != SynCookies::always && !pressed && may_open_fast(e, listener, arrival)) {
    return false;
  }
  if (cookies != SynCookies::always && keep_half_open(e, at_listener, arrival, pressed)) {
    return true;
  }
  if (cookies == SynCookies::off) {
    return false;
  }
  reply_cookie(e, at_listener, arrival);
  return true;
}

Sequence iss_for(const Engine& e, const InboundSegment& arrival, Index reused_time_wait) {
  Sequence const iss = initial_sequence(e.config, tuple_of(arrival), e.state->now);
  //= rfc9293#3.6.1
  //# 9293:P-TW-REUSE-ISN the new ISN lies beyond all that the old connection used
  return reused_time_wait == nil ? iss
                                 : last_of(iss, e.time_waits[reused_time_wait].send_nxt.next());
}

// Data, FIN and URG of the SYN are kept in SYN-RECEIVED.
//= rfc9293#3.10.7.2
//# 9293:P-LISTEN-SYN-QUEUE the rest of the SYN is kept: data, FIN and URG
//= rfc9293#3.5
//# 9293:P-SYNDATA-HOLD and reaches the user only in ESTABLISHED
void keep_data(Engine& e, Connection& c, const wire::Segment& segment) {
  SegmentData data{segment.sequence.next(), segment.payload, segment.flags.fin()};
  Bytes const window = c.receive.edge.since(data.begin);
  if (data.end().after(c.receive.edge)) {
    data.bytes = data.bytes.first(window.count);
    data.fin = false;
  }
  if (!data.bytes.empty() || data.fin) {
    static_cast<void>(accept_data(e, c, data, segment));
  }
  if (segment.flags.urg()) [[unlikely]] {
    process_urgent(e, c, segment);
  }
}

}  // namespace

//= rfc9293#3.9.1.1
//# 9293:P-OPEN-PASSIVE-MATCH, 9293:P-OPEN-LOCALADDR the most specific socket wins
Index find_listener(const Engine& e, const FourTuple& tuple) {
  // The most specific kind has the highest number.
  for (std::uint32_t kind = listener_kinds; kind-- != 0;) {
    if (e.state->listeners_of_kind[kind] == 0) {
      continue;
    }
    bool const names_address = (kind & listener_names_address) != 0;
    bool const names_remote = (kind & listener_names_remote) != 0;
    Index const listener =
        find_exact(e, {names_address ? tuple.local.address : IpAddress{}, tuple.local.port,
                       names_remote ? tuple.remote : Endpoint{}});
    if (listener != nil) {
      return listener;
    }
  }
  return nil;
}

Connection* open_passive(Engine& e, Index at_listener, const InboundSegment& arrival,
                         Sequence iss) {
  Connection* const c =
      open_connection(e, {tuple_of(arrival), arrival.hash, arrival.local_address});
  if (c == nullptr) {
    return nullptr;
  }
  //= rfc9293#3.10.7.2
  //# 9293:P-LISTEN-BIND the remote socket is filled in from the SYN
  Listener& listener = e.listeners[at_listener];
  c->passive = true;
  c->accepted_unreported = true;
  c->backlog = {at_listener, listener.generation};
  ++listener.pending;
  adopt_settings(listener, *c);
  if (accounts_kept(e)) [[unlikely]] {
    e.accounts[e.slot_of(*c)].mss = listener.mss;
  }
  begin_sending(e, *c, iss);
  return c;
}

Drop arrives_listen(Engine& e, Index at_listener, const InboundSegment& arrival,
                    Index reused_time_wait) {
  wire::Segment const& s = arrival.segment;
  Listener& listener = e.listeners[at_listener];
  //= rfc9293#3.10.7.2
  //# 9293:P-LISTEN-RST a reset is ignored, before anything else
  if (s.flags.rst()) {
    return Drop::tcp_listen_reset;
  }
  //= rfc9293#3.10.7.2
  //# 9293:P-LISTEN-ACK an ACK draws a reset
  //= rfc9293#3.5.1
  //# 9293:P-HALFOPEN-PASSIVE figure 11: a SYN-ACK at LISTEN draws <SEQ=SEG.ACK><CTL=RST>
  if (s.flags.ack()) {
    if (cookies_are_out(e) && may_answer_cookie(e, arrival)) [[unlikely]] {
      return arrives_cookie(e, at_listener, arrival);
    }
    reply_reset(e, arrival);
    return Drop::tcp_listen_ack;
  }
  //= rfc9293#3.10.7.2
  //# 9293:P-LISTEN-OTHER neither RST, ACK nor SYN: dropped
  //= rfc9293#3.10.7.4
  //# 9293:P-FIN-PRESYNC a FIN among them
  if (!s.flags.syn()) {
    return Drop::tcp_listen_other;
  }
  Drop const refused = room_for(e, listener, reused_time_wait != nil);
  // A SYN that reopens a TIME-WAIT gets a full record: only that keeps our ISS beyond the old
  // sequence numbers.
  bool const spare =
      refused == Drop::none && !crowded(listener) && e.config.syn_cookies != SynCookies::always;
  if (!spare && reused_time_wait == nil && open_without_record(e, at_listener, arrival, refused))
      [[unlikely]] {
    return Drop::none;
  }
  Connection* const opened =
      refused == Drop::none
          ? open_passive(e, at_listener, arrival, iss_for(e, arrival, reused_time_wait))
          : nullptr;
  if (opened == nullptr) {
    if (reused_time_wait != nil) {
      resume_time_wait(e, reused_time_wait);
    }
    return refused == Drop::none ? Drop::tcp_connections_full : refused;
  }
  Connection& c = *opened;
  //= rfc9293#3.10.7.2
  //# 9293:P-LISTEN-SYN, 9293:P-LISTEN-SYN-VARS IRS, RCV.NXT, ISS; <SYN,ACK> leaves next
  //= rfc9293#3.5
  //# 9293:P-3WHS figure 6, its second segment
  enter(e, c, State::syn_received);
  InFlightState* const a = ensure_active(e, c);
  a->reused_time_wait = reused_time_wait;
  process_syn(e, c, s);
  bool const refuses = s.options.has_fast_open && refuses_data(e, c, listener, s);
  if (!refuses && (e.config.syn_data || opened_fast(c))) [[likely]] {
    keep_data(e, c, s);
  }
  hold_half_open(e, c);
  make_ready(e, c);
  return Drop::none;
}

}  // namespace lockstep::tcp
