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

// The `attempt`-th port to try for a connection from `local` to `remote`; `drawn` counts the ports
// drawn so far, so that one remote sees its ports move on.
Port candidate_port(const Config& config, const FourTuple& tuple, std::uint32_t drawn,
                    Count attempt);

}  // namespace lockstep::tcp
