// Two counters, each of its second.
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

bool may_answer(Engine& e, Connection& c) {
  auto const second = static_cast<std::uint32_t>(e.state->now.ns / 1'000'000'000);
  if (c.answers_second != second) {
    c.answers_second = second;
    c.answers = 0;
  }
  if (c.answers >= e.config.empty_answers_per_second.value) {
    ++e.counters->answers_limited;
    return false;
  }
  ++c.answers;
  return true;
}

}  // namespace lockstep::tcp
