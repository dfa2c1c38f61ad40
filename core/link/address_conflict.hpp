// Addresses of ours that other hosts have, too (RFC 5227; for IPv6 RFC 4862 5.4).
#pragma once

#include <cstdint>

#include "core/units/address.hpp"
#include "core/units/time.hpp"

namespace lockstep {

// tentative: it is being tested, and not used yet
// usable:    nobody else answered for it
// duplicate: another host had it before us: it is not used
enum class AddressState : std::uint8_t { tentative, usable, duplicate };

// An ARP packet showed that another host has an address of ours, too, or is testing it.
struct AddressConflict {
  IpAddress address;
  Mac other;                // the host's link address
  Instant at;               // when the last such packet arrived
  std::uint64_t count = 0;  // such packets, for all our addresses; 0: none so far
};

}  // namespace lockstep
