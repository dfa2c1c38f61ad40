// Plays an input on a device, under the oracle.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "conformance/compare/host.hpp"
#include "conformance/compare/input.hpp"
#include "conformance/compare/oracle.hpp"

namespace lockstep::conformance::compare {

/// The names that scripts use, too (`../script`).
inline constexpr Port compare_device_port{8'080};
inline constexpr Port compare_tester_port{41'234};
inline constexpr Port compare_other_port{41'235};
inline constexpr Port compare_closed_port{9'090};

/// One thing that happened, for a script.
struct Event {
  enum class Kind : std::uint8_t { arrived, left, called };
  /// steps: until a second after the last one; then the program reads all; then 70 s may pass.
  enum class Phase : std::uint8_t { steps, drain, patience };
  Kind kind = Kind::called;
  Phase phase = Phase::steps;
  Instant at;
  std::vector<std::byte> packet;  ///< arrived, left
  Piece piece;                    ///< arrived
  std::string call;               ///< called: as "accept"
  std::uint64_t argument = 0;     ///< of the call: octets
  std::int64_t result = 0;
};

struct Played {
  RuleSet broken;
  std::map<std::size_t, std::string> details;  ///< of the rules that are broken
  std::string fault;                           ///< of device_broken: one line
  std::uint64_t outcome = 0;
  std::uint32_t first_of_device = 0;  ///< its ISN
  std::vector<Event> events;          ///< if they were asked for
};

/// Creates the device, and plays. `ours`: it is our own stack. Throws Failure if the device cannot
/// be created; what else it does wrong is in the result.
Played play(Host& host, const Input& input, bool ours, bool with_events = false);

}  // namespace lockstep::conformance::compare
