// Socket addresses: sockaddr_in and sockaddr_in6 to endpoints and back.
#pragma once

#include <sys/socket.h>

#include "core/units/address.hpp"

namespace lockstep::tools {

/// An address of the caller's, and its length.
struct NameIn {
  const sockaddr* address = nullptr;
  socklen_t length = 0;
};

/// Of a socket of this family; 0, or a negative errno: -EINVAL too short, -EAFNOSUPPORT another
/// family, -EFAULT null. IPv4's 0.0.0.0 stays apart from ::.
int read_name(NameIn name, bool v6, Endpoint& out);

/// Writes as much of it as *length allows; then *length is the whole length. `address` null:
/// nothing is written. 0, or -EFAULT, -EINVAL.
int write_name(const Endpoint& endpoint, bool v6, sockaddr* address, socklen_t* length);

}  // namespace lockstep::tools
