// What the kernel says of an interface, and of its own addresses.
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
  bool ethernet = false;  // frames with Ethernet headers, and a link address; not loopback
};

// 1 to 15 octets, neither '/' nor blanks.
bool is_interface_name(const std::string& name);

// Bad input: no interface has this name. Environment: the kernel does not say.
[[nodiscard]] Trouble look_at(const std::string& name, InterfaceFacts& into);

// Who in the kernel answers for an address.
struct KernelOwner {
  std::string interface;
  IpAddress first;               // the address; or the first of a local route's
  std::uint8_t prefix_bits = 0;  // with which it has it
  bool is_route = false;         // no interface has the address, but a local route
};

// Nothing: nobody does. An address of an interface first, whose route it would be, too.
std::optional<KernelOwner> kernel_owner(const IpAddress& address);

// An address of ours must not be the kernel's as well: it would answer for us. The fault names the
// interface or the route that has it.
[[nodiscard]] Trouble refuse_kernel_address(const IpAddress& address);

}  // namespace lockstep::hw
