// Replaces what TCP options tell about hosts, and leaves their kinds and lengths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/units/hash.hpp"

namespace lockstep::tools {

/// What is added to the numbers in the options of a segment.
struct OptionShifts {
  std::uint32_t blocks = 0;  ///< to the edges of SACK blocks
  std::uint32_t value = 0;   ///< to the timestamp
  std::uint32_t echo = 0;    ///< to its echo, unless that is 0
};

/// How many options had their data replaced, by kind.
struct OptionCounts {
  std::uint64_t cookies = 0;  ///< Fast Open
  std::uint64_t digests = 0;  ///< MD5 and TCP-AO
  std::uint64_t multipath = 0;
  std::uint64_t unknown = 0;
};

/// The octets between TCP's header and its data. Octets that belong to no well-formed option stay
/// zero where they are zero, and are replaced otherwise.
std::vector<std::byte> anonymised_options(std::span<const std::byte> options,
                                          const OptionShifts& shifts, const HashKey& secret,
                                          OptionCounts& counts);

}  // namespace lockstep::tools
