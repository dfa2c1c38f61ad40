// The addresses of this host, of both families, and classification of other addresses.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/units/address.hpp"
#include "core/units/bytes.hpp"

namespace lockstep::internet {

// What kind of address it is for this host.
enum class AddressClass : std::uint8_t { ours, broadcast, multicast, other };

// Returned instead of an index if no address of ours matches.
inline constexpr std::uint16_t no_address = 0xffff;

// Whether the address alone can be a host's address (RFC 1122 3.2.1.3).
bool is_host(IpAddress address);

// A bounded set, filled from the configuration and constant afterwards. A plain value.
class Addresses {
 public:
  // Those in the configuration, plus a link-local one that the stack forms itself.
  static constexpr std::uint32_t addresses_max = 9;

  // Adds an address and the length of its on-link prefix (IPv4: 0 to 32; IPv6: 0 to 128). False:
  // the set is full, it is not a host's address (RFC 1122 3.2.1.3) or already present, or the
  // length is out of range.
  [[nodiscard]] bool add(IpAddress address, std::uint8_t prefix_bits);

  // In the order of add(). Valid until this object moves.
  std::span<const IpAddress> all() const { return {addresses_.data(), count_}; }
  std::uint32_t count() const { return count_; }
  std::uint8_t prefix_bits(std::uint16_t index) const { return prefix_bits_[index]; }

  // The index of one of our addresses, or no_address. At most addresses_max comparisons.
  std::uint16_t find(IpAddress address) const {
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (addresses_[i] == address) [[likely]] {
        return static_cast<std::uint16_t>(i);
      }
    }
    return no_address;
  }

  // The first of our addresses that has the IPv4 address `address` in its on-link prefix, or
  // no_address.
  std::uint16_t on_link(IpAddress address) const;

  // The first IPv4 address of ours, or no_address.
  std::uint16_t first_v4() const;

  // Limited broadcast, or the broadcast address (all ones, or the obsolete all zeros) of one of our
  // prefixes of at most 30 bits. RFC 1122 3.2.1.3, 3.3.6.
  bool is_broadcast(IpAddress address) const;

  AddressClass classify(IpAddress address) const;

  // Whether `address` is valid as the source of a received datagram: a unicast address of another
  // host. RFC 1122 3.2.1.3.
  bool may_be_source(IpAddress address) const {
    return address.is_v4() ? may_be_source(address.as_v4())
                           : address.is_v6_host() && find(address) == no_address;
  }
  bool has_v6() const { return has_v6_; }
  bool has_link_local() const;
  // Whether this host is a member of the IPv6 group `address`: all nodes, or the solicited-node
  // group of one of our addresses.
  bool is_joined(IpAddress address) const;

 private:
  // Our address, or a broadcast address of its link. Without host bits only the address itself
  // matches.
  static constexpr bool is_taken(Ipv4 address, Ipv4 ours, std::uint32_t hosts) {
    std::uint32_t const differs = address.value ^ ours.value;
    std::uint32_t const host = address.value & hosts;
    return (differs & ~hosts) == 0 && (differs == 0 || host == hosts || host == 0);
  }
  //= rfc1122#3.2.1.3
  //# 1122:H-1 not broadcast, multicast, loopback, reserved, or one of ours
  //= rfc9293#3.9.2.3
  //# 9293:P-ADDR-ALLSEG whatever the datagram contains
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
  std::array<Ipv4, addresses_max>
      v4_{};  // 0.0.0.0, which is never a valid source, in place of IPv6
  std::array<std::uint8_t, addresses_max> prefix_bits_{};
  // Mask of the host bits; all ones or all zeros of them make a broadcast address. 0 if the prefix
  // has no broadcast.
  std::array<std::uint32_t, addresses_max> host_bits_{};
  std::uint32_t count_ = 0;
  bool has_v6_ = false;
};

// Whether the first `bits` (0 to 32) of two IPv4 addresses are equal.
struct AddressPair {
  Ipv4 first;
  Ipv4 second;
};
constexpr bool same_prefix(AddressPair pair, std::uint8_t bits) {
  return bits == 0 || ((pair.first.value ^ pair.second.value) >> (32 - bits)) == 0;
}

// Whether a connection may be opened to `address`: a unicast address of another host.
//= rfc9293#3.9.1.1
//# 9293:MUST-46 broadcast and multicast are not valid remote addresses
bool may_be_remote(const Addresses& addresses, IpAddress address);

}  // namespace lockstep::internet
