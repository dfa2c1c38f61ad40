// IPv4 packets of a script on the wire, made and read apart from the core's own reader.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "conformance/script/syntax.hpp"
#include "core/units/address.hpp"

namespace lockstep::script {

/// A TCP packet as it is on the wire: numbers as they are there, not as a script has them.
struct Segment {
  Endpoint source;
  Endpoint destination;
  TcpPacket tcp;  ///< `ack`, `window` and `urgent` always have values
  Ecn ecn = Ecn::none;
};

/// With right checksums, a TTL of 255 as packetdrill has it, and text of zeros. Options are padded
/// to four octets by zeros.
std::vector<std::byte> encode(const Segment& segment);

/// Why the octets are no such packet, or empty. Checksums are verified. Options of kinds that no
/// script can name are an error.
std::string decode(std::span<const std::byte> octets, Segment& out);

}  // namespace lockstep::script
