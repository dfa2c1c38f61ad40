// The limits on ACKs that answer nothing but a wrong segment (RFC 5961 section 7).
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// Whether one more challenge ACK may leave in this second; counts it, or the refusal. A connection
// has a share of its own as well: one that is flooded does not spend what the others need. O(1).
[[nodiscard]] bool may_challenge(Engine& e, Connection& c);
[[nodiscard]] bool may_challenge(Engine& e, HalfOpen& half_open);
[[nodiscard]] bool may_challenge(Engine& e, TimeWait& record);
// Whether one more empty segment out of this connection's window may be answered in this second.
// Two ends that find each other's ACKs unacceptable would else answer each other for ever. Each
// connection has its own share: whoever floods one cannot silence the answers to others' probes.
[[nodiscard]] bool may_answer(Engine& e, Connection& c);
[[nodiscard]] bool may_answer(Engine& e, HalfOpen& half_open);
[[nodiscard]] bool may_answer(Engine& e, TimeWait& record);

}  // namespace lockstep::tcp
