// Numbers with units as text for people, and what parses them (tools/base/parse).
#pragma once

#include <cstdint>
#include <string>

#include "core/units/address.hpp"
#include "core/units/time.hpp"
#include "tools/base/parse/parse.hpp"

namespace lockstep::tools {

/// Formats for people: "1.234 ms", "12.3 Mbit/s", "1,048,576".
std::string text_of(Duration duration);
std::string rate_text(std::uint64_t bits_per_second);
std::string grouped(std::uint64_t number);
std::string text_of(IpAddress address);
/// Six pairs of hexadecimal digits, like 02:00:00:00:00:01.
std::string text_of(const Mac& mac);

}  // namespace lockstep::tools
