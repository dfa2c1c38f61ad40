// What the kernel says of an interface, and of its own addresses.
#pragma once

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

// An address of ours must not be the kernel's as well: it would answer for us. The fault names the
// interface that has it.
[[nodiscard]] Trouble refuse_kernel_address(const IpAddress& address);

}  // namespace lockstep::hw
