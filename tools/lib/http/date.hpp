// HTTP-date: written as IMF-fixdate, read in its three formats (RFC 9110 5.6.7).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lockstep::http {

/// Seconds since the beginning of 1970 UTC; 0: unknown.
struct UnixSeconds {
  std::uint64_t value = 0;
  auto operator<=>(const UnixSeconds&) const = default;
};

/// The last second of the year 9999, which is the last that the format can express.
inline constexpr UnixSeconds last_date{253'402'300'799};

using DateText = std::array<char, 29>;

/// Like "Sun, 06 Nov 1994 08:49:37 GMT". Later times become `last_date`.
DateText date_text(UnixSeconds at);

/// Reads an IMF-fixdate, an RFC 850 date or an asctime date, in UTC. nullopt if it is none of them,
/// names no such day, or lies before 1970. `now` decides the century of an RFC 850 date: the year
/// is at most 50 years later.
std::optional<UnixSeconds> date_in(std::string_view text, UnixSeconds now);

}  // namespace lockstep::http
