// Creating, sending and verifying SYN cookies.
#include "core/tcp/opening/cookies.hpp"

#include <algorithm>
#include <array>

#include "core/tcp/accounts.hpp"
#include "core/tcp/arrives.hpp"
#include "core/tcp/lifecycle.hpp"
#include "core/tcp/opening/used_cookies.hpp"
#include "core/tcp/replies.hpp"
#include "core/units/check.hpp"
#include "core/units/hash.hpp"

namespace lockstep::tcp {
namespace {

// Common MSS values: for links of 576, 1280, 1400, IPv6 or PPPoE, and Ethernet; a very small one
// for the rest, and jumbo frames.
constexpr std::array<std::uint16_t, 8> sizes{28, 256, 536, 1220, 1360, 1440, 1460, 8960};

constexpr std::uint32_t low_bits = 24;
constexpr std::uint32_t low_mask = (1u << low_bits) - 1;
// The cookies of one SYN are far apart, one for each size: an ACK of data, or of a FIN, must not be
// that of another cookie.
constexpr std::uint32_t apart = 0x9e'3779;
constexpr std::uint32_t apart_inverse = 0xb3'82c9;  // modulo 2^24
static_assert(((apart * apart_inverse) & low_mask) == 1);

std::uint32_t tick_of(Instant now) { return static_cast<std::uint32_t>(now.ns / cookie_tick.ns); }

// `more` distinguishes the two hashes from each other and, as an additional word, from the hash of
// RFC 6528, which uses the same key.
std::uint64_t hash_of(const Config& config, const FourTuple& tuple, std::uint64_t more) {
  SecretHash hash(config.isn_key);
  for (IpAddress const& address : {tuple.local.address, tuple.remote.address}) {
    hash.add(address.high).add(address.low);
  }
  hash.add(more);
  std::uint64_t const ports = std::uint64_t{tuple.local.port.value} << 16 | tuple.remote.port.value;
  return hash.finish({ports, 4});
}

std::uint32_t mask_of(const Config& config, const CookieOf& of) {
  return static_cast<std::uint32_t>(tuple_secret(config, of.tuple));
}

std::uint32_t proof_of(const Config& config, const CookieOf& of, std::uint32_t tick) {
  std::uint64_t const more = std::uint64_t{tick} << 32 | of.peer_iss.value;
  return static_cast<std::uint32_t>(hash_of(config, of.tuple, more));
}

CookieRead read_from(const Engine& e, const InboundSegment& arrival) {
  wire::Segment const& s = arrival.segment;
  return read_cookie(e.config, {tuple_of(arrival), s.sequence.previous()},
                     s.acknowledgment.previous(), e.state->now);
}

// The SYN that the cookie stands for, as far as it can be reconstructed.
wire::Segment syn_of(const wire::Segment& answer, Bytes mss) {
  wire::Segment syn;
  syn.sequence = answer.sequence.previous();
  syn.window = answer.window;
  syn.options.has_mss = true;
  syn.options.mss = static_cast<std::uint16_t>(mss.count);
  return syn;
}

// What is stored about the cookies of the tuple of this ACK.
CookieUse cookie_use_by(const Engine& e, const InboundSegment& arrival) {
  return cookie_use_of(e, tuple_secret(e.config, tuple_of(arrival)),
                       arrival.segment.acknowledgment.previous());
}

}  // namespace

std::uint64_t tuple_secret(const Config& config, const FourTuple& tuple) {
  return hash_of(config, tuple, ~std::uint64_t{0});
}

//= rfc4987#3.6
//# 4987:SYN-5 the tuple's keyed hash, the time, and an MSS index; all other options are lost
Sequence make_cookie(const Config& config, const CookieOf& of, Bytes mss, Instant now) {
  std::uint32_t index = 0;
  while (index + 1 < sizes.size() && sizes[index + 1] <= mss.count) {
    ++index;
  }
  std::uint32_t const tick = tick_of(now);
  std::uint32_t const low = (proof_of(config, of, tick) + index * apart) & low_mask;
  return {mask_of(config, of) + (tick << low_bits) + low};
}

CookieRead read_cookie(const Config& config, const CookieOf& of, Sequence cookie, Instant now) {
  std::uint32_t const bare = cookie.value - mask_of(config, of);
  std::uint32_t const tick = tick_of(now);
  std::uint32_t const age = (tick - (bare >> low_bits)) & 0xff;
  CookieRead out;
  out.plausible = age < cookie_ticks_max && age <= tick;
  if (out.plausible) {
    std::uint32_t const ahead = bare - proof_of(config, of, tick - age);
    std::uint32_t const index = (ahead * apart_inverse) & low_mask;
    out.good = index < sizes.size();
    out.mss = {out.good ? sizes[index] : 0u};
    out.until = Instant{} + cookie_tick * (tick - age + cookie_ticks_max);
  }
  return out;
}

void reply_cookie(Engine& e, Index at_listener, const InboundSegment& arrival) {
  wire::Segment const& s = arrival.segment;
  std::uint32_t const unnamed = arrival.remote.is_v4() ? 536 : 1220;
  std::uint32_t const named = s.options.has_mss ? s.options.mss : unnamed;
  CookieOf const of{tuple_of(arrival), s.sequence};
  Sequence const cookie =
      make_cookie(e.config, of, {std::min(named, e.link_mss(arrival.remote).count)}, e.state->now);
  //= rfc9293#3.10.7.2
  //# 9293:P-LISTEN-SYN <SEQ=ISS><ACK=IRS+1><CTL=SYN,ACK>; the peer retransmits the rest
  Listener const& by = e.listeners[at_listener];
  Bytes const buffer = by.receive_buffer.empty() ? e.config.receive_buffer : by.receive_buffer;
  WireWindow const window = window_to_wire(least(buffer, Bytes{0xffff}), WindowScale{});
  e.counters->cookies_sent += reply_syn(e, arrival, by, cookie, window) ? 1 : 0;
  e.state->cookies_until = e.state->now + cookie_tick * cookie_ticks_max;
  forgive(e, tuple_secret(e.config, of.tuple));
}

bool may_answer_cookie(const Engine& e, const InboundSegment& arrival) {
  return !arrival.segment.flags.syn() && read_from(e, arrival).plausible;
}

bool proves_cookie(const Engine& e, const InboundSegment& arrival) {
  return !arrival.segment.flags.syn() && read_from(e, arrival).good &&
         !cookie_use_by(e, arrival).this_one;
}

Drop arrives_cookie(Engine& e, Index at_listener, const InboundSegment& arrival) {
  CookieRead const read = read_from(e, arrival);
  CookieUse const spent = cookie_use_by(e, arrival);
  if (spent.this_one || (!read.good && spent.another)) {
    //= rfc4987#3.6
    //# 4987:SYN-5 a repeated or late ACK opens nothing: its connection is gone
    reply_reset(e, arrival);
    return Drop::tcp_closed;
  }
  if (!read.good) {
    if (e.config.bad_cookie_reset) {
      reply_reset(e, arrival);
    }
    return Drop::tcp_cookie_unproven;
  }
  if (accept_queue_full(e.listeners[at_listener])) {
    return Drop::tcp_listen_full;
  }
  Sequence const iss = arrival.segment.acknowledgment.previous();
  Connection* const opened =
      make_room_for_one(e) ? open_passive(e, at_listener, arrival, iss) : nullptr;
  if (opened == nullptr) {
    return Drop::tcp_connections_full;
  }
  Connection& c = *opened;
  enter(e, c, State::syn_received);
  process_syn(e, c, syn_of(arrival.segment, read.mss));
  spend(e, tuple_secret(e.config, tuple_of(arrival)), iss, read.until);
  // Our SYN was sent, and this is its ACK.
  c.send.nxt = iss.next();
  c.sent_at = e.state->now;
  ++c.segments_received;
  ++e.counters->cookies_taken;
  Drop const drop = arrives_other_states(e, c, arrival);
  CHECK(c.state != State::syn_received);
  return drop;
}

}  // namespace lockstep::tcp
