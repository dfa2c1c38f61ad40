// Writes what a captured connection did in the language of scripts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conformance/replay/script.hpp"

namespace lockstep::conformance::script {

/// How closely the device's packets are told: their windows and instants; their instants; or their
/// order among what the peer and the application did.
enum class Closeness : std::uint8_t { windows, instants, order };

/// When the application reads: whatever has come, or only before it closes.
enum class Reading : std::uint8_t { at_once, late };

struct Manner {
  std::string profile;
  Closeness closeness = Closeness::windows;
  Reading reading = Reading::at_once;
  bool nagle = false;
  bool delayed_acks = true;
};

struct Written {
  std::string text;
  std::vector<std::uint64_t> packets;  ///< of each line the packet of the capture; 0: none
};

Written write_script(const conformance::Script& script, const Manner& manner);

}  // namespace lockstep::conformance::script
