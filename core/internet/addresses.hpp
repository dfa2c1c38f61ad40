// The addresses of this host, of both families, and what a destination is to it.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/units/address.hpp"
#include "core/units/bytes.hpp"

namespace lockstep::internet {

// What an address is to this host.
enum class AddressClass : std::uint8_t { ours, broadcast, multicast, other };

// The place of an address among ours.
inline constexpr std::uint16_t no_address = 0xffff;

// Whether some host may have this address, as far as the address alone tells (RFC 1122 3.2.1.3).
bool is_host(IpAddress address);

// A bounded set, filled from the configuration and constant from then on. A plain value.
class Addresses {
 public:
  // Those of the configuration, and a link-local one that the stack forms itself.
  static constexpr std::uint32_t addresses_max = 9;

  // Adds an address and the length of its on-link prefix (0 to 32, of IPv6 to 128). False: there is
  // no room, it is no host's (RFC 1122 3.2.1.3) or there already, or the length is out of range.
  [[nodiscard]] bool add(IpAddress address, std::uint8_t prefix_bits);

  // In the order in which they were added. Valid as long as this object stays where it is.
  std::span<const IpAddress> all() const { return {addresses_.data(), count_}; }
  std::uint32_t count() const { return count_; }
  std::uint8_t prefix_bits(std::uint16_t index) const { return prefix_bits_[index]; }

  // The place of an address of ours, or no_address. At most addresses_max comparisons.
  std::uint16_t find(IpAddress address) const {
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (addresses_[i] == address) [[likely]] {
        return static_cast<std::uint16_t>(i);
      }
    }
    return no_address;
  }

  // The first address of ours on whose link `address`, of IPv4, lies, or no_address.
  std::uint16_t on_link(IpAddress address) const;

  // Limited broadcast, or the broadcast address (all ones or, of old, all zeros) of a prefix of
  // ours of at most 30 bits. RFC 1122 3.2.1.3, 3.3.6.
  bool is_broadcast(IpAddress address) const;

  AddressClass classify(IpAddress address) const;

  // Whether `address` may be the source of a datagram that arrives: a unicast address of another
  // host. RFC 1122 3.2.1.3.
  bool may_be_source(IpAddress address) const {
    return address.is_v4() ? may_be_source(address.as_v4())
                           : address.is_v6_host() && find(address) == no_address;
  }
  bool has_v6() const { return has_v6_; }
  bool has_link_local() const;
  // Whether `address` is a group of IPv6 that this host is in: all nodes, or the solicited-node
  // group of an address of ours.
  bool is_joined(IpAddress address) const;

 private:
  // Ours, or a broadcast of a link of ours. With no host bits, only the address itself matches.
  static constexpr bool is_taken(Ipv4 address, Ipv4 ours, std::uint32_t hosts) {
    std::uint32_t const differs = address.value ^ ours.value;
    std::uint32_t const host = address.value & hosts;
    return (differs & ~hosts) == 0 && (differs == 0 || host == hosts || host == 0);
  }
  //= rfc1122#3.2.1.3
  //# 1122:H-1 broadcast, multicast, loopback and reserved addresses are no source, ours is none
  //= rfc9293#3.9.2.3
  //# 9293:P-ADDR-ALLSEG whatever the datagram carries
  bool may_be_source(Ipv4 address) const {
    if (address.is_reserved() || address.is_multicast() || address.is_loopback()) {
      return false;
    }
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (is_taken(address, v4_[i], host_bits_[i])) {
        return false;
      }
    }
    return true;
  }

  std::array<IpAddress, addresses_max> addresses_{};
  std::array<Ipv4, addresses_max> v4_{};  // 0.0.0.0, which no source may have, in place of IPv6
  std::array<std::uint8_t, addresses_max> prefix_bits_{};
  // The bits of an address that number hosts, all ones or zeros of them being a broadcast; 0 if the
  // prefix has no broadcast.
  std::array<std::uint32_t, addresses_max> host_bits_{};
  std::uint32_t count_ = 0;
  bool has_v6_ = false;
};

// Whether the first `bits` (0 to 32) of two IPv4 addresses are the same.
struct AddressPair {
  Ipv4 first;
  Ipv4 second;
};
constexpr bool same_prefix(AddressPair pair, std::uint8_t bits) {
  return bits == 0 || ((pair.first.value ^ pair.second.value) >> (32 - bits)) == 0;
}

// Whether a connection may be opened to `address`: a unicast address of another host.
//= rfc9293#3.9.1.1
//# 9293:MUST-46 broadcast and multicast are no remote addresses
bool may_be_remote(const Addresses& addresses, IpAddress address);

}  // namespace lockstep::internet
