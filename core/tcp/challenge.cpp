// The limit on challenge ACKs (RFC 5961 section 7).
#include "core/tcp/challenge.hpp"

namespace lockstep::tcp {

//= rfc5961#7
//# 5961:BLIND-7, 5961:BLIND-12 challenge ACKs are limited, by a number that Config sets
//# 5961:BLIND-15 an instant and a counter do it, without a timer
bool may_challenge(Engine& e) {
  EngineState& s = *e.state;
  if (s.now.since(s.challenge_second) >= Duration::seconds(1)) {
    s.challenge_second = s.now;
    s.challenges_used = 0;
  }
  if (s.challenges_used >= e.config.challenges_per_second.value) {
    ++e.counters->challenges_limited;
    return false;
  }
  ++s.challenges_used;
  ++e.counters->challenges_sent;
  return true;
}

}  // namespace lockstep::tcp
