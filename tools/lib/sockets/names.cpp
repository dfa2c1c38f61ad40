// Converts sockaddr_in and sockaddr_in6 to endpoints and back.
#include "tools/lib/sockets/names.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace lockstep::tools {
namespace {

std::uint64_t number_of(const std::uint8_t* octets) {
  std::uint64_t number = 0;
  for (std::uint32_t i = 0; i < 8; ++i) {
    number = number << 8 | octets[i];
  }
  return number;
}

void write_number(std::uint64_t number, std::uint8_t* octets) {
  for (std::uint32_t i = 0; i < 8; ++i) {
    octets[i] = static_cast<std::uint8_t>(number >> (56 - 8 * i));
  }
}

int copy_out(const void* whole, socklen_t size, sockaddr* address, socklen_t* length) {
  std::memcpy(address, whole, std::min(size, *length));
  *length = size;
  return 0;
}

}  // namespace

int read_name(NameIn name, bool v6, Endpoint& out) {
  if (name.address == nullptr) {
    return -EFAULT;
  }
  // sin6_scope_id at the end of sockaddr_in6 may be missing (RFC 2133 does not have it).
  constexpr socklen_t least6 = offsetof(sockaddr_in6, sin6_scope_id);
  if (name.length < sizeof(sa_family_t)) {
    return -EINVAL;
  }
  sa_family_t family = 0;
  std::memcpy(&family, name.address, sizeof family);
  if (family != (v6 ? AF_INET6 : AF_INET)) {
    return -EAFNOSUPPORT;
  }
  if (name.length < (v6 ? least6 : socklen_t{sizeof(sockaddr_in)})) {
    return -EINVAL;
  }
  if (!v6) {
    sockaddr_in in{};
    std::memcpy(&in, name.address, sizeof in);
    out = {IpAddress::from(Ipv4{ntohl(in.sin_addr.s_addr)}), {ntohs(in.sin_port)}};
    return 0;
  }
  sockaddr_in6 in{};
  std::memcpy(&in, name.address, std::min(name.length, socklen_t{sizeof in}));
  out.address = {number_of(in.sin6_addr.s6_addr), number_of(in.sin6_addr.s6_addr + 8)};
  out.port = {ntohs(in.sin6_port)};
  return 0;
}

int write_name(const Endpoint& endpoint, bool v6, sockaddr* address, socklen_t* length) {
  if (address == nullptr) {
    return 0;
  }
  if (length == nullptr) {
    return -EFAULT;
  }
  if (static_cast<int>(*length) < 0) {
    return -EINVAL;
  }
  if (!v6) {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_port = htons(endpoint.port.value);
    out.sin_addr.s_addr = htonl(endpoint.address.as_v4().value);
    return copy_out(&out, sizeof out, address, length);
  }
  sockaddr_in6 out{};
  out.sin6_family = AF_INET6;
  out.sin6_port = htons(endpoint.port.value);
  write_number(endpoint.address.high, out.sin6_addr.s6_addr);
  write_number(endpoint.address.low, out.sin6_addr.s6_addr + 8);
  return copy_out(&out, sizeof out, address, length);
}

}  // namespace lockstep::tools
