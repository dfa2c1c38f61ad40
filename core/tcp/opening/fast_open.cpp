// Fast Open (RFC 7413): the server's cookies, and the client's cache of servers.
#include "core/tcp/opening/fast_open.hpp"

#include <algorithm>

#include "core/tcp/autotune.hpp"
#include "core/tcp/congestion/control.hpp"
#include "core/tcp/expiry.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/record_ends.hpp"
#include "core/tcp/recovery/scoreboard.hpp"
#include "core/tcp/segment_options.hpp"

namespace lockstep::tcp {
namespace {

constexpr std::uint32_t cookie_bytes = 8;
// For this long a reset attempt still counts as pending.
constexpr Duration resets_remembered = Duration::seconds(60);

// Leaves out options that are only advice if there is no space for Fast Open.
void fit(const Engine& e, const Connection& c, wire::Options& options) {
  Bytes const room = syn_options_room(e, c);
  options.has_user_timeout = options.has_user_timeout && options_bytes(options) <= room;
  options.has_fast_open = options_bytes(options) <= room;
}

// The addresses of a connection.
struct Ends {
  IpAddress client, server;
};

// Eight octets of the wire as the number that SipHash takes.
constexpr std::uint64_t reversed(std::uint64_t octets) {
  std::uint64_t out = 0;
  for (int shift = 0; shift < 64; shift += 8) {
    out = out << 8 | (octets >> shift & 0xff);
  }
  return out;
}

[[gnu::cold]] std::uint64_t hash_of_addresses(SecretHash& hash, const Ends& ends) {
  if (ends.client.is_v4()) {
    std::uint64_t const both =
        std::uint64_t{ends.client.as_v4().value} << 32 | ends.server.as_v4().value;
    return hash.add(reversed(both)).finish();
  }
  hash.add(reversed(ends.client.high)).add(reversed(ends.client.low));
  return hash.add(reversed(ends.server.high)).add(reversed(ends.server.low)).finish();
}

// Depends on the client's address and a time step; the cookie of the previous step is valid too.
//= rfc7413#4.1.2
//# 7413:TFO-4 a keyed hash of the client's address, which expires
std::uint64_t cookie_of(const Config& config, const Ends& ends, Instant now) {
  SecretHash hash(config.fast_open_key);
  if (config.fast_open_by_addresses) [[unlikely]] {
    return hash_of_addresses(hash, ends);
  }
  IpAddress const client = ends.client;
  hash.add(client.high).add(client.low);
  return hash.add(now.ns / config.fast_open_rotation.ns).finish();
}

void put_cookie(std::uint64_t cookie, wire::Options& options) {
  options.has_fast_open = true;
  options.cookie_bytes = cookie_bytes;
  for (std::uint32_t i = 0; i < cookie_bytes; ++i) {
    options.cookie[i] = static_cast<std::uint8_t>(cookie >> (8 * i));
  }
}

bool shows(const wire::Options& options, std::uint64_t cookie) {
  wire::Options expected;
  put_cookie(cookie, expected);
  return options.cookie_bytes == cookie_bytes && options.cookie == expected.cookie;
}

bool over_limit(const Engine& e, Listener& listener) {
  if (e.state->now >= listener.fast_open_resets_until) {
    listener.fast_open_resets = 0;
  }
  //= rfc7413#4.2
  //# 7413:TFO-9 above the limit no SYN is opened fast
  return listener.fast_open_pending + listener.fast_open_resets >= listener.fast_open_max;
}

// The cookie in a SYN's option.
struct Shown {
  bool good = false;     // valid: a cookie of this or the previous time step
  bool current = false;  // of this step: the client needs no newer one
};

Shown shown_by(const Engine& e, const Ends& client, const wire::Options& options) {
  Instant const now = e.state->now;
  Duration const step = e.config.fast_open_rotation;
  bool const current = shows(options, cookie_of(e.config, client, now));
  bool const former =
      !current && now.ns >= step.ns && shows(options, cookie_of(e.config, client, now - step));
  return {current || former, current};
}

// Accepts the data of a SYN whose cookie is valid: the application is notified at once.
void open_fast(Engine& e, Connection& c, Listener& listener) {
  //= rfc7413#4.2.2
  //# 7413:TFO-13 accept the data, notify, and acknowledge it with the SYN
  c.options.set(negotiated::fast_open);
  e.active(c).fast_open_counted = true;
  e.active(c).fast_open_by = c.backlog;
  ++listener.fast_open_pending;
  // Counts as established for the listener; the limit above bounds these until the handshake ends.
  ++listener.complete;
  //= rfc7413#4.2.2
  //# 7413:TFO-16 responses may be sent now, at most an initial window
  congestion::begin(e, c, Count{0});
  if (receive_buffer_grows(e, c)) {
    begin_tuning(e, c);
  }
  notify(e, c, EventKind::accepted);
}

// Where the cookie of this server is stored, if there is one.
//= rfc7413#4.1.3
//# 7413:TFO-5 one cookie per pair of addresses
FastOpenEntry& place_of(const Engine& e, IpAddress local, IpAddress remote) {
  TableHash hash(e.config.table_key);
  hash.add(local.high).add(local.low);
  std::uint64_t const value = hash.add(remote.high).add(remote.low).finish();
  return e.fast_open_cache[static_cast<std::uint32_t>(value % e.fast_open_cache.count())];
}

FastOpenEntry& place_of(const Engine& e, const Connection& c) {
  return place_of(e, e.local_of(c), c.remote);
}

bool is_about(const FastOpenEntry& entry, const Engine& e, const Connection& c) {
  return entry.local == e.local_of(c) && entry.remote == c.remote;
}

// The entry of this server; replaces another server's entry in that place. The table is bounded.
FastOpenEntry& claim(Engine& e, const Connection& c) {
  FastOpenEntry& entry = place_of(e, c);
  if (!is_about(entry, e, c)) {
    entry = FastOpenEntry{};
    entry.local = e.local_of(c);
    entry.remote = c.remote;
  }
  return entry;
}

}  // namespace

[[gnu::cold]] bool refuses_data(Engine& e, Connection& c, Listener& listener,
                                const wire::Segment& syn) {
  //= rfc7413#4.2
  //# 7413:TFO-2 the option is ignored unless the application enabled it
  if (listener.fast_open_max == 0) {
    return false;
  }
  InFlightState& a = e.active(c);
  Shown const shown = shown_by(e, {c.remote, e.local_of(c)}, syn.options);
  a.fast_open_answer = !shown.current;
  //= rfc7413#4.2.2
  //# 7413:TFO-14 without a valid cookie, or above the limit, only the SYN is acknowledged
  if (!shown.good || over_limit(e, listener)) {
    e.counters->fast_opens_refused += syn.payload.empty() ? 0 : 1;
    return true;
  }
  // A SYN that reopens a TIME-WAIT may be an old duplicate: wait for the handshake.
  if (!syn.payload.empty() && a.reused_time_wait == nil) {
    open_fast(e, c, listener);
    ++e.counters->fast_opens_taken;
  }
  return false;
}

[[gnu::cold]] bool may_open_fast(const Engine& e, Listener& listener,
                                 const InboundSegment& arrival) {
  wire::Options const& options = arrival.segment.options;
  return options.has_fast_open && listener.fast_open_max != 0 &&
         shown_by(e, {arrival.remote, arrival.local}, options).good && !over_limit(e, listener);
}

[[gnu::cold]] bool wants_cookie(const Engine& e, const Listener& listener,
                                const InboundSegment& arrival) {
  wire::Options const& options = arrival.segment.options;
  return options.has_fast_open && listener.fast_open_max != 0 &&
         !shown_by(e, {arrival.remote, arrival.local}, options).current;
}

void leave_fast_open(Engine& e, Connection& c, bool reset) {
  if (c.active == nil || !e.active(c).fast_open_counted) [[likely]] {
    return;
  }
  e.active(c).fast_open_counted = false;
  BacklogPlace const by = e.active(c).fast_open_by;
  Listener* const listener = e.listeners.find(by.listener);
  if (listener == nullptr || listener->generation != by.generation) {
    return;
  }
  --listener->fast_open_pending;
  // RFC 7413 5.1: resets from a spoofed host must not make space for the next SYN of a flood.
  if (reset) {
    ++listener->fast_open_resets;
    listener->fast_open_resets_until = e.state->now + resets_remembered;
  }
}

bool knows_cookie(const Engine& e, IpAddress local, const Endpoint& remote) {
  if (!e.config.fast_open_client) {
    return false;
  }
  FastOpenEntry const& entry = place_of(e, local, remote.address);
  bool const about = entry.local == local && entry.remote == remote.address;
  bool const bad = entry.bad_port == remote.port && e.state->now < entry.bad_until;
  return about && entry.cookie_bytes != 0 && !bad;
}

void want_fast_open(Engine& e, Connection& c) {
  FastOpenEntry const& entry = place_of(e, c);
  //= rfc7413#4.1.3.1
  //# 7413:TFO-8 not for a while to an address and port where it failed
  bool const bad =
      is_about(entry, e, c) && entry.bad_port == c.remote_port && e.state->now < entry.bad_until;
  e.active(c).fast_open_wanted = !bad;
}

Bytes fast_open_data(Engine& e, Connection& c, const SegmentPlan& syn) {
  InFlightState const& a = e.active(c);
  FastOpenEntry const& entry = place_of(e, c);
  //= rfc7413#4.2.1
  //# 7413:TFO-1 first a cookie is requested
  if (!is_about(entry, e, c) || entry.cookie_bytes == 0) {
    return {};
  }
  //= rfc7413#4.2.2
  //# 7413:TFO-11 without space for the option, a plain SYN
  wire::Options const options = options_of(e, c, syn, {});
  if (!options.has_fast_open) {
    return {};
  }
  //= rfc7413#4.1.3
  //# 7413:TFO-6 the server's MSS, or the minimum that every host accepts
  std::uint32_t const unnamed = c.remote.is_v4() ? 536 : 1220;
  std::uint32_t most = std::min(entry.mss != 0 ? entry.mss : unnamed, e.link_mss(c.remote).count);
  std::uint32_t const path = e.paths.find(c.remote, e.state->now);
  if (path != 0) {
    most = std::min(most, path - (c.remote.is_v4() ? 40u : 60u));
  }
  Bytes const data = least(a.send.length(), Bytes{most} - options_bytes(options));
  return within_record(e, c, a, queue_begin(c), data);
}

void end_fast_open(Engine& e, Connection& c, const wire::Segment& syn_ack) {
  if (!e.active(c).fast_open_used) [[likely]] {
    return;
  }
  wire::Options const& options = syn_ack.options;
  FastOpenEntry& entry = claim(e, c);
  //= rfc7413#4.2.2
  //# 7413:TFO-19 store the newest cookie and MSS
  entry.mss = options.has_mss ? options.mss : entry.mss;
  if (options.has_fast_open && options.cookie_bytes != 0) {
    entry.cookie = options.cookie;
    entry.cookie_bytes = options.cookie_bytes;
    entry.bad_until = {};
  } else if (c.send.una != c.send.nxt ||
             (e.config.fast_open_needs_cookie && entry.cookie_bytes == 0)) {
    doubt_fast_open(e, c);
  }
  if (c.send.nxt != c.send.iss.next() && c.send.una == c.send.nxt) {
    c.options.set(negotiated::early_taken);
  }
  e.active(c).fast_open_used = false;
}

//= rfc7413#4.1.3.1
//# 7413:TFO-7 remember data that was not acknowledged, ICMP errors, resets, and missing answers
void doubt_fast_open(Engine& e, Connection& c) {
  if (!e.active(c).fast_open_used) {
    return;
  }
  FastOpenEntry& entry = claim(e, c);
  entry.bad_port = c.remote_port;
  entry.bad_until = e.state->now + e.config.fast_open_retry;
}

[[gnu::cold]] void resume_early_data(Engine& e, Connection& c) {
  InFlightState& a = e.active(c);
  if (!c.passive) {
    //= rfc7413#4.2.2
    //# 7413:TFO-18 retransmit unacknowledged data of our SYN with the first ACK
    a.retransmit_next = c.send.una;
    a.retransmit_end = c.send.nxt;
    a.early = true;
    a.early_end = c.send.nxt;
    a.timing = false;
  } else if (c.sack && e.config.rack && a.retransmit_next.at_or_after(a.retransmit_end)) {
    static_cast<void>(Scoreboard(e, a).begin({c.send.una, c.send.nxt}, c.sent_at));
  }
  a.mode = RetransmitMode::retransmit;
  a.retransmit_due = due_in(e, c.rtt.rto());
  set_give_up(e, c, a);
  arm(e, a);
}

void add_fast_open(const Engine& e, const Connection& c, const SegmentPlan& plan,
                   wire::Options& options) {
  InFlightState const& a = e.active(c);
  //= rfc7413#4.2.1
  //# 7413:TFO-10 retransmitted SYNs and SYN-ACKs are plain
  //= rfc7413#4.2.2
  //# 7413:TFO-12, 7413:TFO-17 without data and option, on both sides
  bool const due = c.state == State::syn_sent ? a.fast_open_wanted : a.fast_open_answer;
  if (plan.retransmitted || !due) [[likely]] {
    return;
  }
  if (c.state != State::syn_sent) {
    add_cookie(e, c, options);
    return;
  }
  options.has_fast_open = true;
  FastOpenEntry const& entry = place_of(e, c);
  if (is_about(entry, e, c)) {
    options.cookie = entry.cookie;
    options.cookie_bytes = entry.cookie_bytes;
  }
  fit(e, c, options);
}

void add_cookie(const Engine& e, const Connection& c, wire::Options& options) {
  put_cookie(cookie_of(e.config, {c.remote, e.local_of(c)}, e.state->now), options);
  fit(e, c, options);
}

}  // namespace lockstep::tcp
