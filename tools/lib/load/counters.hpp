// The results of a load: successes, and failures by name.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/units/time.hpp"
#include "tools/lib/load/histogram.hpp"

namespace lockstep::load {

/// How a request failed, or a connection before its first request.
enum class Fault : std::uint8_t {
  none,
  refused,       // a reset answered the SYN
  reset,         // a reset arrived on a connection
  unreachable,   // an ICMP error, or no neighbour
  no_connect,    // no connection was established within the timeout
  timeout,       // no complete response arrived within the timeout
  closed_early,  // the server closed before the response was complete
  status,        // the response is an error: not 2xx, or memcached's ERROR
  malformed,     // not a response of this protocol
  wrong_length,
  wrong_body,
  unasked,  // octets arrived without a request
  no_port,  // every local port that was tried is in use
  no_room,  // a pool of our stack is exhausted
  unsent,   // of a schedule: too many requests waited for a connection, or this one too long
};

inline constexpr std::uint32_t fault_count = 15;

constexpr std::string_view name_of(Fault fault) {
  constexpr std::array<std::string_view, fault_count> names{
      "none",       "refused",      "reset",   "unreachable", "no_connect",
      "timeout",    "closed_early", "status",  "malformed",   "wrong_length",
      "wrong_body", "unasked",      "no_port", "no_room",     "unsent"};
  return names[static_cast<std::uint32_t>(fault)];
}

/// Everything since the warm-up. A request counts from the instant at which it became due.
struct Counters {
  std::uint64_t connections = 0;  ///< that became ESTABLISHED
  std::uint64_t asked = 0;        ///< requests that became due
  std::uint64_t answered = 0;     ///< correctly and in time
  std::uint64_t body_octets = 0;  ///< of correct responses
  std::uint64_t updates = 0;      ///< sets of memcached, among the answered
  std::uint64_t misses = 0;       ///< of memcached: the key does not exist
  std::array<std::uint64_t, fault_count> faults{};
};

struct Times {
  Histogram latency;  ///< from the instant at which a request became due to the end of its response
  Histogram connect;  ///< from our SYN to ESTABLISHED
  Histogram rtt;      ///< smoothed, when a response was complete
};

constexpr std::uint64_t faults_of(const Counters& counters) {
  std::uint64_t sum = 0;
  for (std::uint64_t const each : counters.faults) {
    sum += each;
  }
  return sum;
}

/// Requests that failed or were never sent: without a correct response in time.
constexpr std::uint64_t unanswered_of(const Counters& counters) {
  return counters.asked > counters.answered ? counters.asked - counters.answered : 0;
}

}  // namespace lockstep::load
