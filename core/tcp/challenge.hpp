// The limits on ACKs that answer nothing but a wrong segment (RFC 5961 section 7).
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// Whether one more challenge ACK may leave in this second; counts it, or the refusal. O(1).
[[nodiscard]] bool may_challenge(Engine& e);
// As above for a connection, which has a share of its own as well: one flooded connection does not
// spend what the others need.
[[nodiscard]] bool may_challenge(Engine& e, Connection& c);
[[nodiscard]] bool may_challenge(Engine& e, HalfOpen& half_open);
// Whether one more empty segment out of this connection's window may be answered in this second.
// Two ends that find each other's ACKs unacceptable would else answer each other for ever. Each
// connection has its own share: whoever floods one cannot silence the answers to others' probes.
[[nodiscard]] bool may_answer(Engine& e, Connection& c);
[[nodiscard]] bool may_answer(Engine& e, HalfOpen& half_open);

}  // namespace lockstep::tcp
