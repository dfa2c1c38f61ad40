// The user timeout option (RFC 5482): what is told to the peer, and what is adopted from it.
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// The option's two octets: seconds, or minutes where they would not fit. Never zero; rounds up.
std::uint16_t user_timeout_to_wire(Duration timeout);
// Zero for the reserved values.
Duration user_timeout_from_wire(std::uint16_t value);

// ADV_UTO: what the application has set, or Config's.
Duration user_timeout_to_advertise(const Config& config, const Connection& c);
// Whether the option is in use, and its value due on the next segment that is no SYN.
void announce_user_timeout(const Engine& e, Connection& c);
// The option of a segment: on a SYN it waits for the end of the handshake.
void process_user_timeout(Engine& e, Connection& c, const wire::Segment& segment);
// The application sets it: from here on it is told and stands (R2; 0 is for ever).
void fix_user_timeout(const Engine& e, Connection& c, std::uint32_t milliseconds);
// A keep-alive interval in milliseconds, as a user timeout that was adopted lets it be.
inline std::uint32_t keepalive_idle_beside(const Connection& c, std::uint32_t wanted) {
  //= rfc5482#4.2
  //# 5482:UTO-13 never shorter than a timeout that was adopted
  bool const adopted = c.options.has(negotiated::user_timeout_adopted);
  return adopted && wanted <= c.user_timeout_ms ? c.user_timeout_ms + 1 : wanted;
}
// The handshake is over.
void adopt_user_timeout_of_syn(Engine& e, Connection& c);

}  // namespace lockstep::tcp
