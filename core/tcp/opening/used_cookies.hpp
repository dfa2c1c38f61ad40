// SYN cookies that have opened a connection, stored until they expire.
#pragma once

#include "core/tcp/engine.hpp"
#include "core/tcp/opening/cookies.hpp"

namespace lockstep::tcp {

// What is stored about the cookies of a four-tuple.
struct CookieUse {
  bool this_one = false;  // this cookie has opened a connection
  bool another = false;   // another one has, and no SYN was answered by a cookie since
};

// `tuple_secret`: the keyed hash returned by tuple_secret() in cookies.hpp. O(1).
CookieUse cookie_use_of(const Engine& e, std::uint64_t tuple_secret, Sequence cookie);
// Stores a used cookie. A full place replaces the cookie that expires first: a replay of that one's
// ACK may then open one more connection, but no legitimate ACK fails.
void spend(Engine& e, std::uint64_t tuple_secret, Sequence cookie, Instant until);
// A SYN of this tuple is answered by a cookie: the tuple starts afresh.
void forgive(Engine& e, std::uint64_t tuple_secret);

}  // namespace lockstep::tcp
