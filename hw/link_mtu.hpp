// The MTU of an interface, which its owner may change while frames pass.
#pragma once

#include <concepts>
#include <string>

#include "core/units/bytes.hpp"
#include "core/units/time.hpp"
#include "hw/poll/descriptor.hpp"

namespace lockstep::hw {

// For a driver on a link whose MTU may change: link_mtu() is the MTU now, at least 68.
template <class D>
concept LinkedDriver = requires(D driver) {
  { driver.link_mtu() } -> std::same_as<Bytes>;
};

// Asks the kernel once a second, when it is looked at.
class LinkMtu {
 public:
  // `interface` empty: the MTU stays `mtu`, as for a descriptor that belongs to no interface.
  LinkMtu(const std::string& interface, Bytes mtu);

  // The MTU at `now`, 68 to 65,535 octets; the last one known if the kernel does not answer.
  Bytes look(Instant now);

 private:
  std::string interface_;
  Bytes mtu_;
  Instant next_;
  Descriptor socket_;
};

}  // namespace lockstep::hw
