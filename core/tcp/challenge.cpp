// Counts challenge ACKs and answers to empty segments in each second.
#include "core/tcp/challenge.hpp"

#include <limits>

#include "core/units/hash.hpp"

namespace lockstep::tcp {
namespace {

// How many challenge ACKs all connections may send in the second that began at `second`.
//= rfc5961#7
//# 5961:BLIND-7 with a known limit an attacker could count them and learn of other connections
std::uint32_t budget_of(const Config& config, Instant second) {
  std::uint32_t const limit = config.challenges_per_second.value;
  if (!config.challenge_jitter || limit < 2) {
    return limit;
  }
  SecretHash hash(config.isn_key);
  // Six words: the hashes of initial sequence numbers and of cookies have fewer.
  for (int i = 0; i < 6; ++i) {
    hash.add(second.ns);
  }
  return limit / 2 + static_cast<std::uint32_t>(hash.finish() % (limit + 1ull));
}

// Whether `interval` has passed since the last ACK of this kind; notes one of now. The record keeps
// the millisecond of the last one, which repeats after 49 days, in its two fields.
template <class Record>
bool interval_passed(Record& c, Instant now, Duration interval) {
  auto const ms = static_cast<std::uint32_t>(now.ns / 1'000'000) + 1;
  std::uint32_t const last = std::uint32_t{c.answers} << 16 | c.answers_second;
  if (last != 0 && ms - last < (interval.ns + 999'999) / 1'000'000) {
    return false;
  }
  c.answers = static_cast<std::uint16_t>(ms >> 16);
  c.answers_second = static_cast<std::uint16_t>(ms);
  return true;
}

// Whether the connection's own limit permits one more in the second of `now`. A limit above the
// largest count is no limit.
template <class Record, class Number>
bool within_share(const Config& config, Record& c, Number Record::* count, Instant now,
                  Count limit) {
  if (config.answer_interval != Duration{}) {
    return interval_passed(c, now, config.answer_interval);
  }
  auto const second = static_cast<decltype(c.answers_second)>(now.ns / 1'000'000'000);
  if (c.answers_second != second) {
    c.answers_second = second;
    c.answers = 0;
    c.challenges = 0;
  }
  if (c.*count >= limit.value) {
    return false;
  }
  constexpr auto most = std::numeric_limits<Number>::max();
  c.*count = c.*count == most ? most : static_cast<Number>(c.*count + 1);
  return true;
}

}  // namespace

//= rfc5961#7
//# 5961:BLIND-7, 5961:BLIND-12 challenge ACKs are limited, by a number that Config sets
//# 5961:BLIND-15 an instant and a counter are enough: no timer is needed
static bool may_challenge(Engine& e) {
  EngineState& s = *e.state;
  if (s.now.since(s.challenge_second) >= Duration::seconds(1)) {
    s.challenge_second = s.now;
    s.challenges_used = 0;
  }
  if (s.challenges_used >= budget_of(e.config, s.challenge_second)) {
    ++e.counters->challenges_limited;
    return false;
  }
  ++s.challenges_used;
  ++e.counters->challenges_sent;
  return true;
}

namespace {

template <class Record>
bool may_challenge_within(Engine& e, Record& c) {
  // Its own limit comes first, so that a flood on one connection leaves the stack's to the others.
  if (!within_share(e.config, c, &Record::challenges, e.state->now,
                    e.config.challenges_per_connection)) {
    ++e.counters->challenges_limited;
    return false;
  }
  return may_challenge(e);
}

template <class Record>
bool may_answer_within(Engine& e, Record& c) {
  if (!within_share(e.config, c, &Record::answers, e.state->now,
                    e.config.empty_answers_per_second)) {
    ++e.counters->answers_limited;
    return false;
  }
  return true;
}

}  // namespace

bool may_challenge(Engine& e, Connection& c) { return may_challenge_within(e, c); }
bool may_challenge(Engine& e, HalfOpen& half_open) { return may_challenge_within(e, half_open); }
bool may_challenge(Engine& e, TimeWait& record) { return may_challenge_within(e, record); }

bool may_answer(Engine& e, Connection& c) { return may_answer_within(e, c); }
bool may_answer(Engine& e, HalfOpen& half_open) { return may_answer_within(e, half_open); }
bool may_answer(Engine& e, TimeWait& record) { return may_answer_within(e, record); }

}  // namespace lockstep::tcp
