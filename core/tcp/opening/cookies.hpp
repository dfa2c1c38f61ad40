// SYN cookies (RFC 4987 3.6): SYNs answered without a record, and the ACKs that prove them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// A cookie is an initial sequence number: a keyed hash of the four-tuple, plus a clock of 8 bits
// that ticks every `cookie_tick`, plus 24 bits that hold a second keyed hash, over the clock and
// the peer's ISS as well, and the index of an MSS. A guess is right once in 2^28.
inline constexpr Duration cookie_tick = Duration::seconds(64);
// It is good during its own tick and the next one: for 64 to 128 s.
inline constexpr std::uint32_t cookie_ticks_max = 2;

// What a cookie was made for.
struct CookieOf {
  FourTuple tuple;
  Sequence peer_iss;
};

// What an acknowledgment number tells of the SYN that it answers.
struct CookieRead {
  bool plausible = false;  // the clock fits: 1 in 128 of all numbers
  bool good = false;       // and so does the hash
  Bytes mss;               // the largest of the table that the SYN's MSS allowed
  Instant until;           // of one whose clock fits: when it is good no longer
};

// How many cookies that have opened connections are remembered: where there are none, none.
constexpr Count used_cookies_of(const Config& config) {
  constexpr std::uint32_t most = 4096;
  bool const used = config.syn_cookies != SynCookies::off;
  return {used ? std::min(config.time_wait_max.value, most) : 0};
}

// The cookie of a SYN whose sender takes segments of `mss`. O(1), without state.
Sequence make_cookie(const Config& config, const CookieOf& of, Bytes mss, Instant now);
CookieRead read_cookie(const Config& config, const CookieOf& of, Sequence cookie, Instant now);

// A keyed hash of the tuple, whose lower half hides the cookie's clock; it never leaves.
std::uint64_t tuple_secret(const Config& config, const FourTuple& tuple);

// Answers the SYN through the queue of replies, which is bounded.
void reply_cookie(Engine& e, Index at_listener, const InboundSegment& arrival);

// Whether there are cookies that may still be answered.
inline bool cookies_are_out(const Engine& e) { return e.state->now < e.state->cookies_until; }
// Whether this ACK to a listener may answer one, as far as its clock tells.
bool may_answer_cookie(const Engine& e, const InboundSegment& arrival);
// Whether it does, in full.
bool proves_cookie(const Engine& e, const InboundSegment& arrival);
// Such an ACK: opens the connection if the cookie is good and there is room. One that has opened a
// connection before is answered as in CLOSED, and so is what else comes of a connection that is
// gone. All else is dropped in silence, as what its sender says next may be proof, or find room: a
// reset would end a connection that stands for the peer.
Drop arrives_cookie(Engine& e, Index listener, const InboundSegment& arrival);

}  // namespace lockstep::tcp
