// Big-endian fields in memory: the only place that deals with byte order.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/units/address.hpp"

namespace lockstep::wire {

inline constexpr bool little_endian = std::endian::native == std::endian::little;

// Converts between host and network order, in both directions.
constexpr std::uint16_t network16(std::uint16_t value) {
  return little_endian ? __builtin_bswap16(value) : value;
}
constexpr std::uint32_t network32(std::uint32_t value) {
  return little_endian ? __builtin_bswap32(value) : value;
}
constexpr std::uint64_t network64(std::uint64_t value) {
  return little_endian ? __builtin_bswap64(value) : value;
}

// The caller has checked that the octets exist. Any alignment.
inline std::uint8_t load8(const std::byte* at) { return std::to_integer<std::uint8_t>(*at); }
inline std::uint16_t load16(const std::byte* at) {
  std::uint16_t raw;
  std::memcpy(&raw, at, sizeof raw);
  return network16(raw);
}
// In host order: for sums, which do not depend on byte order.
inline std::uint32_t load_raw32(const std::byte* at) {
  std::uint32_t raw;
  std::memcpy(&raw, at, sizeof raw);
  return raw;
}
inline std::uint32_t load32(const std::byte* at) { return network32(load_raw32(at)); }

inline std::uint64_t load64(const std::byte* at) {
  std::uint64_t raw;
  std::memcpy(&raw, at, sizeof raw);
  return network64(raw);
}

inline void store8(std::byte* at, std::uint8_t value) { *at = static_cast<std::byte>(value); }
inline void store16(std::byte* at, std::uint16_t value) {
  std::uint16_t const raw = network16(value);
  std::memcpy(at, &raw, sizeof raw);
}
inline void store32(std::byte* at, std::uint32_t value) {
  std::uint32_t const raw = network32(value);
  std::memcpy(at, &raw, sizeof raw);
}

inline void store64(std::byte* at, std::uint64_t value) {
  std::uint64_t const raw = network64(value);
  std::memcpy(at, &raw, sizeof raw);
}

// An IPv6 address: sixteen octets.
inline IpAddress load_ipv6(const std::byte* at) { return {load64(at), load64(at + 8)}; }
inline void store_ipv6(std::byte* at, IpAddress address) {
  store64(at, address.high);
  store64(at + 8, address.low);
}

inline Mac load_mac(const std::byte* at) {
  Mac mac;
  std::memcpy(mac.octets.data(), at, mac.octets.size());
  return mac;
}
inline void store_mac(std::byte* at, Mac mac) {
  std::memcpy(at, mac.octets.data(), mac.octets.size());
}

}  // namespace lockstep::wire
