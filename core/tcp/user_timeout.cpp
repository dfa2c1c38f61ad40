// The user timeout option (RFC 5482): what we advertise, and what we adopt from the peer.
#include "core/tcp/user_timeout.hpp"

#include <algorithm>

#include "core/tcp/expiry.hpp"
#include "core/tcp/lifecycle.hpp"

namespace lockstep::tcp {
namespace {

constexpr std::uint16_t minutes_bit = 0x8000;
constexpr std::uint16_t value_max = 0x7fff;

//= rfc5482#3
//# 5482:UTO-2 upper and lower limits apply
//= rfc5482#3.1
//# 5482:UTO-5 min(U_LIMIT, max(ADV_UTO, REMOTE_UTO, L_LIMIT))
void adopt(Engine& e, Connection& c, Duration remote) {
  //= rfc5482#3
  //# 5482:UTO-3 once the application has set it, CHANGEABLE is false
  //= rfc5482#3.1
  //# 5482:UTO-4 then no option changes it
  if (c.options.has(negotiated::user_timeout_fixed)) {
    return;
  }
  Duration const least = std::max(e.config.user_timeout_least,
                                  //= rfc5482#3.1
                                  //# 5482:UTO-7 the lower limit is above the current RTO
                                  c.rtt.rto() + Duration::milliseconds(1));
  // Without a timeout of our own ("never") the peer's cannot be the longer one.
  Duration const ours = user_timeout_to_advertise(e.config, c);
  Duration const wanted = ours.ns == 0 ? Duration::forever() : std::max(ours, remote);
  Duration const most = std::max(e.config.user_timeout_most, least);
  Duration const adopted = std::min(most, std::max(wanted, least));
  c.user_timeout_ms = static_cast<std::uint32_t>(adopted.ns / 1'000'000);
  c.options.set(negotiated::user_timeout_adopted);
  //= rfc5482#4.2
  //# 5482:UTO-13 keep-alives wait longer than the adopted timeout
  c.keepalive_idle_ms = std::max(c.keepalive_idle_ms, c.user_timeout_ms + 1);
  if (c.active != nil && !e.active(c).give_up_due.is_never()) {
    set_give_up(e, c, e.active(c));
    arm(e, c);
  }
}

}  // namespace

std::uint16_t user_timeout_to_wire(Duration timeout) {
  std::uint64_t const seconds = timeout.ns / 1'000'000'000 + (timeout.ns % 1'000'000'000 != 0);
  //= rfc5482#3.3
  //# 5482:UTO-8 15 bits of seconds, or of minutes if the top bit is set
  //= rfc5482#3.4
  //# 5482:UTO-9 zero is never sent
  if (seconds <= value_max) {
    return static_cast<std::uint16_t>(std::max<std::uint64_t>(seconds, 1));
  }
  std::uint64_t const minutes = std::min<std::uint64_t>((seconds + 59) / 60, value_max);
  return static_cast<std::uint16_t>(minutes_bit | minutes);
}

Duration user_timeout_from_wire(std::uint16_t value) {
  std::uint64_t const number = value & value_max;
  return Duration::seconds((value & minutes_bit) != 0 ? number * 60 : number);
}

Duration user_timeout_to_advertise(const Config& config, const Connection& c) {
  if (c.options.has(negotiated::user_timeout_fixed) && c.user_timeout_ms != 0) {
    return Duration::milliseconds(c.user_timeout_ms);
  }
  return config.user_timeout_advertised.ns != 0 ? config.user_timeout_advertised
                                                : config.user_timeout;
}

//= rfc5482#3
//# 5482:UTO-11 on the first segment that is not a SYN, and whenever a new value is used
//= rfc5482#3.2
//# 5482:UTO-12 once: nothing relies on its arrival
void announce_user_timeout(const Engine& e, Connection& c) {
  if (e.config.user_timeout_option && user_timeout_to_advertise(e.config, c).ns != 0) {
    c.options.set(negotiated::user_timeout_due);
  }
}

void process_user_timeout(Engine& e, Connection& c, const wire::Segment& segment) {
  //= rfc5482#3
  //# 5482:UTO-1 without the feature the option is ignored silently
  if (!e.config.user_timeout_option || !segment.options.has_user_timeout) {
    return;
  }
  std::uint16_t const value = segment.options.user_timeout;
  //= rfc5482#3.4
  //# 5482:UTO-9 zero is ignored, in seconds and in minutes
  if ((value & value_max) == 0) {
    return;
  }
  if (!synchronized(c.state)) {
    //= rfc5482#3.3
    //# 5482:UTO-10 until the handshake is complete the default timeouts apply
    e.active(c).user_timeout_heard = value;
    return;
  }
  adopt(e, c, user_timeout_from_wire(value));
}

void fix_user_timeout(const Engine& e, Connection& c, std::uint32_t milliseconds) {
  c.user_timeout_ms = milliseconds;
  //= rfc5482#3
  //# 5482:UTO-3 the peer can no longer change it
  c.options.set(negotiated::user_timeout_fixed);
  c.options.clear(negotiated::user_timeout_adopted);
  if (synchronized(c.state)) {
    announce_user_timeout(e, c);
  }
}

void adopt_user_timeout_of_syn(Engine& e, Connection& c) {
  if (e.active(c).user_timeout_heard != 0) {
    adopt(e, c, user_timeout_from_wire(e.active(c).user_timeout_heard));
  }
}

}  // namespace lockstep::tcp
