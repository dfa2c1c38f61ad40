// The Internet checksum: partial sums that combine, computed while copying if possible.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/units/address.hpp"
#include "core/units/bytes.hpp"

namespace lockstep::wire {

// A one's complement sum (RFC 1071) of a run of octets as big-endian 16-bit words, an odd last
// octet padded with zero. The value is the same on every machine and in every implementation. Sums
// of adjacent runs can be combined, also at odd boundaries.
struct Partial {
  std::uint64_t sum = 0;  // words and their carries: below 2^48, not folded
  bool odd = false;       // the run has an odd number of octets

  // The sum as one 16-bit word. Zero only if every octet was zero.
  constexpr std::uint16_t folded() const {
    // The sum of both halves with its carry ends up in the upper half.
    std::uint64_t const words = sum + std::rotl(sum, 32);
    auto const word = static_cast<std::uint32_t>(words >> 32);
    return static_cast<std::uint16_t>((word + std::rotl(word, 16)) >> 16);
  }
  // The value for a header's checksum field, in host order, if this sum covers everything, with the
  // field itself taken as zero.
  constexpr std::uint16_t checksum() const { return static_cast<std::uint16_t>(~folded()); }
  //= rfc1624#5
  //# 1624:CSUM-3 a receiver sums everything, the field included, and compares with FFFF
  constexpr bool verifies() const { return folded() == 0xffff; }
};

// The sum of `first` followed immediately by `second`. Cheap; reads no memory.
constexpr Partial combine(Partial first, Partial second) {
  if (!first.odd) {
    return {first.sum + second.sum, second.odd};
  }
  // After an odd run each octet of the second run is in the other half of its word.
  std::uint64_t const word = second.folded();
  return {first.sum + ((word & 0xff) << 8 | word >> 8), !second.odd};
}

// The sum of `bytes`, of any length and alignment. About 1 instruction per 10 octets.
Partial sum(std::span<const std::byte> bytes);

// Copies `from` to the front of `into` and returns its sum, reading it once. `into` must be large
// enough and must not overlap `from`.
Partial copy_and_sum(std::span<std::byte> into, std::span<const std::byte> from);

// What the TCP checksum covers besides the segment.
struct PseudoHeader {
  IpAddress source;
  IpAddress destination;
  std::uint8_t protocol = 0;
  Bytes length;  // of the transport header and data
};

// The sum of the pseudo-header: RFC 9293 3.1 for IPv4, RFC 8200 8.1 for IPv6.
//= rfc9293#3.1
//# 9293:P-CKSUM-V4 source, destination, zero and protocol, length of header and data
//# 9293:P-CKSUM-V6 for IPv6 the pseudo-header of RFC 8200, whose next header is TCP
constexpr Partial pseudo_header_sum(const PseudoHeader& pseudo) {
  // 32-bit halves: folding adds their 16-bit words.
  std::uint64_t const tail = std::uint64_t{pseudo.protocol} + pseudo.length.count;
  std::uint64_t const lows =
      (pseudo.source.low & 0xffff'ffff) + (pseudo.destination.low & 0xffff'ffff);
  if (pseudo.source.is_v4()) {
    return {lows + tail, false};
  }
  return {lows + (pseudo.source.low >> 32) + (pseudo.destination.low >> 32) +
              (pseudo.source.high >> 32) + (pseudo.source.high & 0xffff'ffff) +
              (pseudo.destination.high >> 32) + (pseudo.destination.high & 0xffff'ffff) + tail,
          false};
}

// RFC 1624: updates a checksum after one 16-bit word changed from `before` to `after`.
struct WordChange {
  std::uint16_t before = 0;
  std::uint16_t after = 0;
};
std::uint16_t updated_checksum(std::uint16_t checksum, WordChange change);

// Prefix sums over constant content, so that parts of it can be sent without summing them.
// A view: it owns neither content nor table. Empty if the content has no table.
struct ChecksumTable {
  std::span<const std::uint16_t> prefixes;  // [i]: the sum of the first i * stride octets
  std::uint32_t stride_bytes = 0;           // even; zero in an empty table

  constexpr bool empty() const { return prefixes.empty(); }
};

// How many entries a table for `content_bytes` octets needs with this stride.
constexpr std::uint64_t checksum_table_entries(std::uint64_t content_bytes,
                                               std::uint32_t stride_bytes) {
  return content_bytes / stride_bytes + 1;
}

// Fills `entries` (checksum_table_entries() of them) and returns the table. `stride_bytes` is even
// and not zero. Reads the content once.
ChecksumTable build_checksum_table(std::span<const std::byte> content,
                                   std::span<std::uint16_t> entries, std::uint32_t stride_bytes);

struct ContentRange {
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
};

// The sum of content[offset, offset + length), which must be inside the content; odd limits are
// allowed. Reads at most 2 * stride octets. An all-zero range may give the other zero (FFFF), which
// makes no difference to a checksum that also covers a header.
Partial table_sum(const ChecksumTable& table, std::span<const std::byte> content,
                  ContentRange range);

// The instruction sets for sums. The best one that the CPU has is chosen before main.
enum class ChecksumMeans : std::uint8_t { scalar, sse2, avx2, avx512 };

bool checksum_means_available(ChecksumMeans means);
ChecksumMeans checksum_means();
// For tests and benchmarks only, on one thread: `means` must be available. Returns the previous
// one.
ChecksumMeans use_checksum_means(ChecksumMeans means);

}  // namespace lockstep::wire
