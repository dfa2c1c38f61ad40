// Asks the wire who has an IPv4 address (RFC 5227 2.1.1).
#pragma once

#include <optional>

#include "core/units/address.hpp"
#include "hw/interface.hpp"

namespace lockstep::hw {

// Broadcasts ARP probes, at most three in 450 ms, and returns the link address of the first host
// that answers. Nothing: nobody did, the interface has no Ethernet or is down, or the process must
// not open packet sockets. Waits; for use before a server runs.
std::optional<Mac> owner_on_wire(const InterfaceFacts& interface, Ipv4 address);

}  // namespace lockstep::hw
