// How a journal lies in its file: records behind each other, little-endian everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace lockstep::journal {

// A record is a length (32 bits, of all that follows it), a kind (8 bits), its fields, and a chain
// (64 bits): a hash of the record and of the chain before it. So a tail that was torn off is found
// by the length, and what was changed, by the chain.
inline constexpr std::string_view magic = "lockstep journal 1\n";
inline constexpr std::uint32_t length_bytes = 4;
inline constexpr std::uint32_t chain_bytes = 8;
/// Longer than any record is written.
inline constexpr std::uint32_t record_max = 1u << 28;

enum class Kind : std::uint8_t {
  begin = 1,     ///< JSON: the configuration with its keys, the application and its parameters
  content = 2,   ///< octets of what the application lends, in order
  turn = 3,      ///< now, blocked, frames in, frames out
  stop = 4,      ///< now: the application was told to stop
  abandon = 5,   ///< now: ... and to abort what was left
  end = 6,       ///< the stack's fingerprint after the last turn
  snapshot = 7,  ///< what stack and application were when the first turn of this journal came
};

/// The chain after a record of kind and fields.
std::uint64_t chained(std::uint64_t chain, std::span<const std::byte> record);
/// What a journal keeps of a frame that left.
std::uint64_t hash_of(std::span<const std::byte> frame);

}  // namespace lockstep::journal
