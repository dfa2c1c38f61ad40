// What a run measured: per connection, and of all together.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sim/kernel/kernel.hpp"

namespace lockstep::tools {

/// The end that sent most, whose measurements are shown.
sim::Side busy_side(const sim::Flow& flow);

/// "10.0.0.1:80" or "[2001:db8::1]:80".
std::string endpoint_text(const Endpoint& endpoint);

/// How a connection ended, in words: "finished", "open", "WRONG BYTES" ...
std::string_view outcome_of(const sim::Flow& flow);

/// When its last end ended; `now` if one is open.
Instant ended(const sim::Flow& flow, Instant now);

/// The host or device at an end.
std::string_view host_of(const sim::Kernel& kernel, const sim::FlowEnd& end);

/// Jain's index of fairness in millionths, rounded; 0 if all rates are. In integers, so that every
/// build prints the same.
std::uint64_t jain_millionths_of(std::span<const std::uint64_t> rates);

/// All connections that were accepted.
struct Totals {
  std::uint64_t connections = 0;
  std::uint64_t octets = 0;                   ///< read, in both directions
  std::uint64_t goodput_bits_per_second = 0;  ///< from the first connect to the last read
  /// Jain's index of the connections' goodputs, each in its faster direction, in millionths; 0 if
  /// there is none.
  std::uint64_t jain_millionths = 0;
};
Totals totals_of(const sim::Kernel& kernel);

/// One line about the totals; empty without connections.
std::string totals_text(const sim::Kernel& kernel);

}  // namespace lockstep::tools
