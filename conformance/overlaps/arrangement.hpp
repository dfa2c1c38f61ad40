// All ways in which a few chunks of octets can lie over and beside each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::conformance {

/// Units of a stream or a datagram, from `begin` up to `end`, which is not included.
struct Chunk {
  std::uint8_t begin = 0, end = 0;
  bool operator==(const Chunk&) const = default;
};

/// Chunks in the order of their arrival. Chunk 0 has the letter A in texts, chunk 1 has B, ...
using Arrangement = std::vector<Chunk>;

inline constexpr std::uint32_t arranged_max = 4;

/// Every arrangement of `chunks` chunks (1 to arranged_max) once: two of them differ in which ends
/// are left of, at, or right of which others. Distances do not count: consecutive ends are one unit
/// apart. Their numbers are 1, 13 (Allen's relations), 409 and 23,917.
std::vector<Arrangement> arrangements(std::uint32_t chunks);

/// The end of the last chunk: the number of units.
std::uint8_t length_of(const Arrangement& arrangement);

/// Whether two chunks share a unit.
bool overlaps(const Arrangement& arrangement);
/// ... and are not equal: RFC 8200 4.5 lets a receiver keep one of two equal fragments.
bool overlaps_partly(const Arrangement& arrangement);

inline constexpr char no_chunk = '.';
/// The letter of the chunk that arrived first (or last) at each unit; no_chunk: no chunk is there.
std::string first_wins(const Arrangement& arrangement);
std::string last_wins(const Arrangement& arrangement);

/// "A 0-2, B 1-3".
std::string text_of(const Arrangement& arrangement);

}  // namespace lockstep::conformance
