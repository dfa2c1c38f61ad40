// Makes a script of a captured connection: the device's packets are expected, the peer's arrive.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/units/address.hpp"

namespace lockstep::conformance::script {

struct FromCapture {
  std::string text;        ///< the script, whole, whether it passes or not
  std::string difference;  ///< empty: it passes; else one line: the packet, and what our stack did
  std::uint64_t packets = 0;  ///< of the connection
};

/// The first connection of the capture that begins with a SYN, or the first of which one end is
/// `local`, seen from there (else from the side that was called). Calls are inferred as `lockstep
/// replay` does; the profile, when the application reads and how closely times are told are those
/// with which our stack gets farthest. Throws Failure (bad_input, environment) for what is no
/// capture, or holds no such connection.
FromCapture from_capture(const std::string& path, const std::optional<IpAddress>& local);

}  // namespace lockstep::conformance::script
