// Converts sockaddr_in and sockaddr_in6 to endpoints and back.
#pragma once

#include <sys/socket.h>

#include "core/units/address.hpp"

namespace lockstep::tools {

/// An address passed by the caller, and its length.
struct NameIn {
  const sockaddr* address = nullptr;
  socklen_t length = 0;
};

/// Parses an address for a socket of the family that `v6` selects. Returns 0 or a negative errno:
/// -EINVAL too short, -EAFNOSUPPORT another family, -EFAULT null. Keeps 0.0.0.0 distinct from ::.
int read_name(NameIn name, bool v6, Endpoint& out);

/// Writes as many octets as *length allows, then sets *length to the full length. A null `address`
/// writes nothing. Returns 0, -EFAULT or -EINVAL.
int write_name(const Endpoint& endpoint, bool v6, sockaddr* address, socklen_t* length);

}  // namespace lockstep::tools
