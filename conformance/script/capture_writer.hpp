// Writes a captured connection as a script.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conformance/replay/script.hpp"

namespace lockstep::conformance::script {

/// How much of the device's packets the script fixes: windows and times; times; or only their order
/// relative to the peer's packets and the calls.
enum class Closeness : std::uint8_t { windows, instants, order };

/// When the application reads: data as soon as it arrives, or only before it closes.
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
  std::vector<std::uint64_t> packets;  ///< for each line, the packet of the capture; 0: none
};

Written write_script(const conformance::Script& script, const Manner& manner);

}  // namespace lockstep::conformance::script
