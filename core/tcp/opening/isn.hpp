// Initial sequence numbers (RFC 6528) and local ports (RFC 6056).
#pragma once

#include "core/tcp/config.hpp"
#include "core/units/address.hpp"
#include "core/units/sequence.hpp"
#include "core/units/time.hpp"

namespace lockstep::tcp {

// A 4-microsecond clock plus a keyed hash of the four-tuple.
Sequence initial_sequence(const Config& config, const FourTuple& tuple, Instant now);

// The lower half of a keyed hash of both addresses, the remote port and `local`; used for
// everything derived from a four-tuple.
std::uint32_t tuple_hash(HashKey key, const FourTuple& tuple, Port local);

// Where port selection starts for two addresses and one remote port.
struct PortOffset {
  std::uint32_t value = 0;
};
PortOffset port_offset(const Config& config, const FourTuple& tuple);

// The `attempt`-th port to try from an offset; `drawn` counts the ports drawn so far, so that
// successive connections to one remote get successive ports.
Port candidate_port(const Config& config, PortOffset offset, std::uint32_t drawn, Count attempt);

// A cached offset and its key, because connections to one server often follow one another. Not part
// of the state: it follows from the configuration alone.
struct KnownOffset {
  IpAddress local;
  Endpoint remote;  // port 0: empty
  PortOffset offset;
};

}  // namespace lockstep::tcp
