// Queries the kernel for an interface and for its own addresses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/units/address.hpp"
#include "core/units/bytes.hpp"
#include "hw/trouble.hpp"

namespace lockstep::hw {

struct InterfaceFacts {
  int index = 0;
  Bytes mtu{1500};
  Mac mac;
  bool up = false;
  bool ethernet = false;  // has Ethernet headers and a link address; not loopback
};

// 1 to 15 octets without '/' and white space.
bool is_interface_name(const std::string& name);

// Bad input: no interface has this name. Environment: the kernel does not report it.
[[nodiscard]] Trouble look_at(const std::string& name, InterfaceFacts& into);

// How the kernel owns an address.
struct KernelOwner {
  std::string interface;
  IpAddress first;               // the address; for a local route its first address
  std::uint8_t prefix_bits = 0;  // the prefix length of the address or route
  bool is_route = false;         // no interface has the address, but a local route covers it
};

// Nothing: the kernel does not own the address. An interface's address is preferred to the local
// route that it implies.
std::optional<KernelOwner> kernel_owner(const IpAddress& address);

// Refuses an address of ours that the kernel also owns, because the kernel would reply for it. The
// fault names the interface or the route.
[[nodiscard]] Trouble refuse_kernel_address(const IpAddress& address);

// The router of the kernel's IPv4 default route through this interface; nothing: there is none.
std::optional<IpAddress> kernel_router(const std::string& interface);

}  // namespace lockstep::hw
