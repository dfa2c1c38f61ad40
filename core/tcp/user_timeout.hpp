// The user timeout option (RFC 5482): what we advertise, and what we adopt from the peer.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// The two octets of the option: seconds, or minutes if seconds do not fit. Never zero; rounds up.
std::uint16_t user_timeout_to_wire(Duration timeout);
// Zero for the reserved values.
Duration user_timeout_from_wire(std::uint16_t value);

// ADV_UTO: the value set by the application, or Config's.
Duration user_timeout_to_advertise(const Config& config, const Connection& c);
// If the option is in use, marks it as pending for the next segment that is not a SYN.
void announce_user_timeout(const Engine& e, Connection& c);
// The option of a received segment; one on a SYN is kept until the handshake is complete.
void process_user_timeout(Engine& e, Connection& c, const wire::Segment& segment);
// Whether the application has set another value than Config's.
inline bool has_own_timeout(const Engine& e, const Connection& c) {
  return c.options.has(negotiated::user_timeout_fixed) &&
         Duration::milliseconds(c.user_timeout_ms) != e.config.user_timeout;
}
// Set by the application: advertised and used from now on (R2; 0: no limit).
void fix_user_timeout(const Engine& e, Connection& c, std::uint32_t milliseconds);
// A keep-alive interval in milliseconds, raised if an adopted user timeout is longer.
inline std::uint32_t keepalive_idle_beside(const Connection& c, std::uint32_t wanted) {
  //= rfc5482#4.2
  //# 5482:UTO-13 never shorter than an adopted timeout
  bool const adopted = c.options.has(negotiated::user_timeout_adopted);
  return adopted && wanted <= c.user_timeout_ms ? c.user_timeout_ms + 1 : wanted;
}
// The handshake is complete.
void adopt_user_timeout_of_syn(Engine& e, Connection& c);

}  // namespace lockstep::tcp
