// Formats numbers for people.
#include "tools/base/text/units.hpp"

#include <fmt/core.h>

#include <array>

namespace lockstep::tools {
namespace {

struct TextUnit {
  std::string_view name;
  std::uint64_t factor;
};

/// RFC 5952: lower case, with the longest run of two or more zero groups as "::".
std::string ipv6_text(IpAddress address) {
  std::array<std::uint32_t, 8> group{};
  for (std::size_t i = 0; i < 8; ++i) {
    const std::uint64_t half = i < 4 ? address.high : address.low;
    group[i] = static_cast<std::uint32_t>(half >> (48 - 16 * (i % 4)) & 0xffff);
  }
  std::size_t best = 8;
  std::size_t length = 1;
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t run = 0;
    while (i + run < 8 && group[i + run] == 0) {
      ++run;
    }
    if (run > length) {
      best = i;
      length = run;
    }
  }
  std::string out;
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == best) {
      out += "::";
      i += length - 1;
      continue;
    }
    out += (out.empty() || out.back() == ':' ? "" : ":") + fmt::format("{:x}", group[i]);
  }
  return out;
}

}  // namespace

std::string text_of(Duration duration) {
  constexpr std::array<TextUnit, 3> units{{{"s", 1'000'000'000}, {"ms", 1'000'000}, {"us", 1'000}}};
  for (const TextUnit& unit : units) {
    if (duration.ns >= unit.factor) {
      return fmt::format("{}.{:03} {}", duration.ns / unit.factor,
                         duration.ns % unit.factor / (unit.factor / 1'000), unit.name);
    }
  }
  return fmt::format("{} ns", duration.ns);
}

std::string rate_text(std::uint64_t bits_per_second) {
  constexpr std::array<TextUnit, 3> units{
      {{"Gbit/s", 1'000'000'000}, {"Mbit/s", 1'000'000}, {"kbit/s", 1'000}}};
  for (const TextUnit& unit : units) {
    if (bits_per_second >= unit.factor) {
      return fmt::format("{}.{:02} {}", bits_per_second / unit.factor,
                         bits_per_second % unit.factor / (unit.factor / 100), unit.name);
    }
  }
  return fmt::format("{} bit/s", bits_per_second);
}

std::string grouped(std::uint64_t number) {
  std::string digits = fmt::format("{}", number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) {
    digits.insert(at - 3, ",");
  }
  return digits;
}

std::string text_of(IpAddress address) {
  if (!address.is_v4()) {
    return ipv6_text(address);
  }
  const std::uint32_t value = address.as_v4().value;
  return fmt::format("{}.{}.{}.{}", value >> 24, value >> 16 & 0xff, value >> 8 & 0xff,
                     value & 0xff);
}

std::string text_of(const Mac& mac) {
  const auto& at = mac.octets;
  return fmt::format("{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", at[0], at[1], at[2], at[3], at[4],
                     at[5]);
}

}  // namespace lockstep::tools
