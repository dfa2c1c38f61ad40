// What came of a load: what went right, and by name what did not.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/units/time.hpp"
#include "tools/lib/load/histogram.hpp"

namespace lockstep::load {

/// How a request, or a connection before its first, failed.
enum class Fault : std::uint8_t {
  none,
  refused,       // a reset answered the SYN
  reset,         // the server reset the connection
  unreachable,   // an ICMP error, or no neighbour
  no_connect,    // no connection stood within the timeout
  timeout,       // no whole answer came within it
  closed_early,  // the server closed before the answer was whole
  status,        // the answer is an error: not 2xx, or memcached's ERROR
  malformed,     // it is no answer of this protocol
  wrong_length,
  wrong_body,
  unasked,  // octets came that nobody had asked for
  no_port,  // every local port that was tried is in use
  no_room,  // a pool of ours is exhausted
  unsent,   // of a schedule: too many waited for a free connection, or this one too long
};

inline constexpr std::uint32_t fault_count = 15;

constexpr std::string_view name_of(Fault fault) {
  constexpr std::array<std::string_view, fault_count> names{
      "none",       "refused",      "reset",   "unreachable", "no_connect",
      "timeout",    "closed_early", "status",  "malformed",   "wrong_length",
      "wrong_body", "unasked",      "no_port", "no_room",     "unsent"};
  return names[static_cast<std::uint32_t>(fault)];
}

/// Everything since the warm-up. Requests count by the instant at which they were wanted.
struct Counters {
  std::uint64_t connections = 0;  ///< that were ESTABLISHED
  std::uint64_t asked = 0;        ///< requests that were wanted
  std::uint64_t answered = 0;     ///< rightly and in time
  std::uint64_t body_octets = 0;  ///< of right answers
  std::uint64_t updates = 0;      ///< of memcached, among the answered
  std::uint64_t misses = 0;       ///< of memcached: the key is not there
  std::array<std::uint64_t, fault_count> faults{};
};

struct Times {
  Histogram latency;  ///< from the instant at which a request was wanted to its answer's end
  Histogram connect;  ///< from our SYN to ESTABLISHED
  Histogram rtt;      ///< smoothed, as the connection knew it when an answer was whole
};

constexpr std::uint64_t faults_of(const Counters& counters) {
  std::uint64_t sum = 0;
  for (std::uint64_t const each : counters.faults) {
    sum += each;
  }
  return sum;
}

/// Requests that failed, or were never sent: no answer of theirs was right and in time.
constexpr std::uint64_t unanswered_of(const Counters& counters) {
  return counters.asked > counters.answered ? counters.asked - counters.answered : 0;
}

}  // namespace lockstep::load
