// SYN cookies (RFC 4987 3.6): SYNs answered without a record, and the ACKs that return cookies.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// A cookie is an initial sequence number: a keyed hash of the four-tuple, plus an 8-bit clock that
// ticks every `cookie_tick`, plus 24 bits with a second keyed hash, which also covers the clock and
// the peer's ISS, and the index of an MSS. A guess succeeds with probability 2^-28.
inline constexpr Duration cookie_tick = Duration::seconds(64);
// It is valid during its own tick and the next one: for 64 to 128 s.
inline constexpr std::uint32_t cookie_ticks_max = 2;

// What a cookie is computed from.
struct CookieOf {
  FourTuple tuple;
  Sequence peer_iss;
};

// What an acknowledgment number reveals about the SYN that it answers.
struct CookieRead {
  bool plausible = false;  // the clock is valid: true for 1 in 128 of all numbers
  bool good = false;       // and so is the hash
  Bytes mss;               // the largest entry of the table that is at most the SYN's MSS
  Instant until;           // if plausible: when the cookie expires
};

// How many used cookies are stored; 0 if cookies are off.
constexpr Count used_cookies_of(const Config& config) {
  constexpr std::uint32_t most = 4096;
  bool const used = config.syn_cookies != SynCookies::off;
  return {used ? std::min(config.time_wait_max.value, most) : 0};
}

// The cookie for a SYN whose sender accepts segments of `mss`. O(1), stateless.
Sequence make_cookie(const Config& config, const CookieOf& of, Bytes mss, Instant now);
CookieRead read_cookie(const Config& config, const CookieOf& of, Sequence cookie, Instant now);

// A keyed hash of the tuple; its lower half masks the cookie's clock. It is never sent.
std::uint64_t tuple_secret(const Config& config, const FourTuple& tuple);

// Answers the SYN through the bounded reply queue.
void reply_cookie(Engine& e, Index at_listener, const InboundSegment& arrival);

// Whether any cookie sent is still valid.
inline bool cookies_are_out(const Engine& e) { return e.state->now < e.state->cookies_until; }
// Whether this ACK to a listener may return a cookie; checks the clock only.
bool may_answer_cookie(const Engine& e, const InboundSegment& arrival);
// Whether it returns a valid cookie; checks clock and hash.
bool proves_cookie(const Engine& e, const InboundSegment& arrival);
// Processes such an ACK: opens the connection if the cookie is valid and there is space. If the
// cookie has opened a connection before, or the segment belongs to a connection that is gone, the
// answer is as in CLOSED. All else is dropped silently, because the peer's next segment may be
// valid or find space: a reset would end a connection that is established for the peer.
Drop arrives_cookie(Engine& e, Index listener, const InboundSegment& arrival);

}  // namespace lockstep::tcp
