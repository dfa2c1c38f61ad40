// Initial sequence numbers (RFC 6528) and local ports (RFC 6056).
#pragma once

#include "core/tcp/config.hpp"
#include "core/units/address.hpp"
#include "core/units/sequence.hpp"
#include "core/units/time.hpp"

namespace lockstep::tcp {

// A clock of 4 microseconds plus a keyed hash of the four-tuple.
Sequence initial_sequence(const Config& config, const FourTuple& tuple, Instant now);

// The lower half of a keyed hash of both addresses, the remote port and `local`, for all that is
// drawn for a four-tuple.
std::uint32_t tuple_hash(HashKey key, const FourTuple& tuple, Port local);

// Where the ports of the connections between two addresses and to one remote port begin.
struct PortOffset {
  std::uint32_t value = 0;
};
PortOffset port_offset(const Config& config, const FourTuple& tuple);

// The `attempt`-th port to try from an offset; `drawn` counts the ports drawn so far, so that one
// remote sees its ports move on.
Port candidate_port(const Config& config, PortOffset offset, std::uint32_t drawn, Count attempt);

// An offset and what it is for: connections to one server follow one another. No state, as it
// follows from the configuration alone.
struct KnownOffset {
  IpAddress local;
  Endpoint remote;  // port 0: none is known
  PortOffset offset;
};

}  // namespace lockstep::tcp
