// The limits on ACKs that answer unacceptable segments (RFC 5961 section 7).
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// Whether one more challenge ACK may be sent now; counts it, or the refusal. Besides the limit of
// the stack each connection has one of its own, a number in a second or Config's answer_interval,
// so that a flood on one connection does not use up the challenges of others. O(1).
[[nodiscard]] bool may_challenge(Engine& e, Connection& c);
[[nodiscard]] bool may_challenge(Engine& e, HalfOpen& half_open);
[[nodiscard]] bool may_challenge(Engine& e, TimeWait& record);
// Whether one more empty segment outside of this connection's window may be answered in this
// second. Without a limit two ends that find each other's ACKs unacceptable would answer each other
// without end. Each connection has its own limit: a flood on one does not suppress the answers of
// others.
[[nodiscard]] bool may_answer(Engine& e, Connection& c);
[[nodiscard]] bool may_answer(Engine& e, HalfOpen& half_open);
[[nodiscard]] bool may_answer(Engine& e, TimeWait& record);

}  // namespace lockstep::tcp
