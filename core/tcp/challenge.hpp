// The limit on challenge ACKs (RFC 5961 section 7).
#pragma once

#include "core/tcp/engine.hpp"

namespace lockstep::tcp {

// Whether one more challenge ACK may leave in this second; counts it, or the refusal. O(1).
[[nodiscard]] bool may_challenge(Engine& e);

}  // namespace lockstep::tcp
