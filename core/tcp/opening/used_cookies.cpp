// SYN cookies that have opened a connection, stored until they expire.
#include "core/tcp/opening/used_cookies.hpp"

#include <algorithm>

namespace lockstep::tcp {
namespace {

// A cookie is stored in one of this many consecutive places.
constexpr std::uint32_t ways = 4;
// A cookie's low bits hold the size, so cookies with smaller differences are the same one: an ACK
// that acknowledges a few octets as well has the number of another size.
constexpr std::int32_t sizes_max = 8;

std::uint32_t mark_of(std::uint64_t tuple_secret) {
  return static_cast<std::uint32_t>(tuple_secret >> 32);
}

// Calls look(entry) for each place of the tuple.
template <class Look>
void each_place(const Engine& e, std::uint64_t tuple_secret, Look&& look) {
  std::uint32_t const places = e.used_cookies.count();
  if (places == 0) {
    return;
  }
  // Uses the upper half of the hash; the lower half masks the cookie's clock.
  std::uint64_t const part = mark_of(tuple_secret) * std::uint64_t{places};
  auto at = static_cast<std::uint32_t>(part >> 32);
  for (std::uint32_t i = std::min(ways, places); i != 0; --i) {
    look(e.used_cookies[at]);
    at = at + 1 == places ? 0 : at + 1;
  }
}

}  // namespace

CookieUse cookie_use_of(const Engine& e, std::uint64_t tuple_secret, Sequence cookie) {
  CookieUse out;
  each_place(e, tuple_secret, [&](const UsedCookie& known) {
    if (known.until > e.state->now && known.mark == mark_of(tuple_secret)) {
      std::int32_t const off = cookie.distance_from(known.cookie);
      bool const same = off > -sizes_max && off < sizes_max;
      out.this_one |= same;
      out.another |= !same && !known.begun_anew;
    }
  });
  return out;
}

void spend(Engine& e, std::uint64_t tuple_secret, Sequence cookie, Instant until) {
  UsedCookie* place = nullptr;
  each_place(e, tuple_secret, [&](UsedCookie& other) {
    place = place == nullptr || other.until < place->until ? &other : place;
  });
  if (place != nullptr) {
    *place = {until, mark_of(tuple_secret), cookie, false};
    e.state->spent_until = later(e.state->spent_until, until);
  }
}

void forgive(Engine& e, std::uint64_t tuple_secret) {
  each_place(e, tuple_secret, [&](UsedCookie& known) {
    known.begun_anew = known.begun_anew || known.mark == mark_of(tuple_secret);
  });
}

}  // namespace lockstep::tcp
