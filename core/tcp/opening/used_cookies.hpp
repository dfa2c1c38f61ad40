// SYN cookies that have opened a connection: which they were, for as long as they are good.
#pragma once

#include "core/tcp/engine.hpp"
#include "core/tcp/opening/cookies.hpp"

namespace lockstep::tcp {

// What is known of the cookies that a four-tuple had.
struct CookieUse {
  bool this_one = false;  // this very cookie has opened a connection
  bool another = false;   // another one has, and no SYN was answered by a cookie since
};

// `tuple_secret` is the keyed hash of the tuple, as of tuple_secret() in cookies.hpp. O(1).
CookieUse cookie_use_of(const Engine& e, std::uint64_t tuple_secret, Sequence cookie);
// Remembers it. A full place forgets the cookie that is good for the shortest time: the ACK of that
// one, if it comes again, may open one connection more, and no honest one fails for it.
void spend(Engine& e, std::uint64_t tuple_secret, Sequence cookie, Instant until);
// The tuple begins anew, by a SYN that a cookie answers.
void forgive(Engine& e, std::uint64_t tuple_secret);

}  // namespace lockstep::tcp
