// What both files of the rebuilder write: IP headers and checksums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/units/address.hpp"
#include "tools/base/capture/decode.hpp"

namespace lockstep::tools {

/// An IP header without options. Its checksum is right, wrong, or 0 (partial).
struct IpHeader {
  IpAddress source, destination;
  bool v6 = false;
  bool hides_route = false;  ///< with a header whose addresses the checksum does not cover
  std::uint8_t protocol = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
  std::uint16_t identification = 0;
  std::uint16_t fragment = 0x4000;  ///< the word with the flags: may not be fragmented
  std::size_t octets = 0;           ///< behind the header
  SumState header_sum = SumState::good;
};

void put_ip_address(std::vector<std::byte>& out, const IpAddress& address, bool v6);
void put_ip(std::vector<std::byte>& out, const IpHeader& ip);
/// The sum of the pseudo-header for a payload of so many octets.
std::uint32_t pseudo_sum(const IpHeader& ip, std::size_t octets);
/// The sum of the pseudo-header, which hardware completes, with and without the length.
struct PartialSums {
  std::uint16_t whole = 0, without_length = 0;
};
PartialSums partial_sums(const IpHeader& ip, std::size_t octets);
/// A checksum of the same state; 0 if it cannot be verified.
std::uint16_t sum_like(SumState state, std::uint16_t right, const PartialSums& partial);

}  // namespace lockstep::tools
