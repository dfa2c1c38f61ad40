// Text as numbers with units: "10ms", "1Gbit/s", "64KiB", "0.01", "1%"; integer arithmetic only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/stack/config.hpp"
#include "core/units/address.hpp"
#include "core/units/random.hpp"
#include "core/units/time.hpp"

namespace lockstep::tools {

/// Each parses the whole text or returns nothing. A decimal fraction must give a whole number of
/// the smallest unit; otherwise it is refused, never rounded.

/// ns, us, ms, s, min, h: "1.5ms" is 1,500,000 ns.
std::optional<Duration> parse_duration(std::string_view text);
/// bit/s, kbit/s, Mbit/s, Gbit/s.
std::optional<std::uint64_t> parse_rate(std::string_view text);
/// B, KiB, MiB, GiB, kB, MB, GB.
std::optional<std::uint64_t> parse_bytes(std::string_view text);
/// "0.01" or "1%", 0 to 1, down to a billionth.
std::optional<Probability> parse_probability(std::string_view text);
/// "10.0.0.1".
std::optional<IpAddress> parse_address(std::string_view text);
/// "10.0.0.1/24".
struct AddressAndPrefix {
  IpAddress address;
  std::uint8_t prefix_bits = 24;
};
std::optional<AddressAndPrefix> parse_address_and_prefix(std::string_view text);
/// default, rfc, linux, freebsd.
std::optional<Config> profile_by_name(std::string_view name);
/// "02:00:00:00:00:01".
std::optional<Mac> parse_mac(std::string_view text);

}  // namespace lockstep::tools
