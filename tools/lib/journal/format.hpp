// The file format of a journal: consecutive records, little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace lockstep::journal {

// A record is its length (32 bits, of all that follows), its kind (8 bits), its fields, and a chain
// hash (64 bits) of the record and of the previous chain hash. The length reveals a truncated file,
// the chain hash any change.
inline constexpr std::string_view magic = "lockstep journal 1\n";
inline constexpr std::uint32_t length_bytes = 4;
inline constexpr std::uint32_t chain_bytes = 8;
/// Larger than any record that is written.
inline constexpr std::uint32_t record_max = 1u << 28;

enum class Kind : std::uint8_t {
  begin = 1,     ///< JSON: the configuration with its keys, the application and its parameters
  content = 2,   ///< octets that the application lends, in order
  turn = 3,      ///< now, blocked, frames in, frames out
  stop = 4,      ///< now: the application was asked to stop
  abandon = 5,   ///< now: the application was asked to abort what was left
  end = 6,       ///< the stack's fingerprint after the last turn
  snapshot = 7,  ///< the state of stack and application before the first turn of this journal
  link_mtu = 8,  ///< octets: the link carries packets of at most this size from now on
};

/// The chain hash after a record of kind and fields.
std::uint64_t chained(std::uint64_t chain, std::span<const std::byte> record);
/// The hash that a journal stores of a frame sent.
std::uint64_t hash_of(std::span<const std::byte> frame);

}  // namespace lockstep::journal
