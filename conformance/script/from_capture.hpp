// Makes a script of a captured connection: expects the device's packets and injects the peer's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/units/address.hpp"

namespace lockstep::conformance::script {

struct FromCapture {
  std::string text;        ///< the whole script, whether it passes or not
  std::string difference;  ///< empty: it passes; else one line: the packet and our stack's output
  std::uint64_t packets = 0;  ///< number of packets of the connection
};

/// Uses the first connection of the capture that begins with a SYN; with `local`, the first one
/// with that address at one end, seen from there (otherwise from the passive side). Infers calls as
/// `lockstep replay` does. Chooses the profile, the time of reads and the strictness of times with
/// which our stack gets farthest. Throws Failure (bad_input, environment) if the file is not a
/// capture or has no such connection.
/// capture, or holds no such connection.
FromCapture from_capture(const std::string& path, const std::optional<IpAddress>& local);

}  // namespace lockstep::conformance::script
