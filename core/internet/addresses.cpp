// Classification of addresses.
#include "core/internet/addresses.hpp"

namespace lockstep::internet {
namespace {

// Longer prefixes have no broadcast address: their one or two addresses are hosts.
constexpr std::uint8_t broadcast_prefix_bits_max = 30;

}  // namespace

bool is_host(IpAddress address) {
  if (!address.is_v4()) {
    return address.is_v6_host();
  }
  Ipv4 const v4 = address.as_v4();
  return !v4.is_reserved() && !v4.is_multicast() && !v4.is_loopback();
}

bool Addresses::add(IpAddress address, std::uint8_t prefix_bits) {
  std::uint8_t const bits_max = address.is_v4() ? 32 : 128;
  if (count_ == addresses_max || prefix_bits > bits_max || !is_host(address) ||
      find(address) != no_address) {
    return false;
  }
  addresses_[count_] = address;
  prefix_bits_[count_] = prefix_bits;
  v4_[count_] = address.is_v4() ? address.as_v4() : Ipv4{};
  has_v6_ = has_v6_ || !address.is_v4();
  bool const broadcasts =
      address.is_v4() && prefix_bits != 0 && prefix_bits <= broadcast_prefix_bits_max;
  host_bits_[count_] = broadcasts ? 0xffff'ffffu >> prefix_bits : 0;
  ++count_;
  return true;
}

std::uint16_t Addresses::on_link(IpAddress address) const {
  for (std::uint32_t i = 0; i < count_; ++i) {
    if (address.is_v4() && addresses_[i].is_v4() &&
        same_prefix({v4_[i], address.as_v4()}, prefix_bits_[i])) {
      return static_cast<std::uint16_t>(i);
    }
  }
  return no_address;
}

std::uint16_t Addresses::first_v4() const {
  for (std::uint32_t i = 0; i < count_; ++i) {
    if (addresses_[i].is_v4()) {
      return static_cast<std::uint16_t>(i);
    }
  }
  return no_address;
}

bool Addresses::is_broadcast(IpAddress address) const {
  if (!address.is_v4()) {
    return false;
  }
  if (address.as_v4().is_limited_broadcast()) {
    return true;
  }
  for (std::uint32_t i = 0; i < count_; ++i) {
    if (host_bits_[i] != 0 && address != addresses_[i] &&
        is_taken(address.as_v4(), v4_[i], host_bits_[i])) {
      return true;
    }
  }
  return false;
}

//= rfc4861#7.2.1
//# 4861:ND-6 all nodes, and the solicited-node group of each address; without MLD reports
bool Addresses::is_joined(IpAddress address) const {
  if (address == all_nodes) {
    return has_v6_;
  }
  for (std::uint32_t i = 0; i < count_; ++i) {
    if (!addresses_[i].is_v4() && addresses_[i].solicited_node() == address) {
      return true;
    }
  }
  return false;
}

bool Addresses::has_link_local() const {
  for (IpAddress const address : all()) {
    if (address.is_link_local()) {
      return true;
    }
  }
  return false;
}

AddressClass Addresses::classify(IpAddress address) const {
  if (find(address) != no_address) {
    return AddressClass::ours;
  }
  if (address.is_multicast()) {
    return AddressClass::multicast;
  }
  return is_broadcast(address) ? AddressClass::broadcast : AddressClass::other;
}

bool may_be_remote(const Addresses& addresses, IpAddress address) {
  return addresses.may_be_source(address);
}

}  // namespace lockstep::internet
