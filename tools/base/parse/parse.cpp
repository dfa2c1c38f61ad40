// Parses numbers with units without floating point.
#include "tools/base/parse/parse.hpp"

#include <array>
#include <charconv>
#include <string>
#include <vector>

namespace lockstep::tools {
namespace {

struct NamedUnit {
  std::string_view name;
  std::uint64_t factor;
};

/// Digits with at most one point, times `factor`: exact, or nothing.
std::optional<std::uint64_t> scaled(std::string_view digits, std::uint64_t factor) {
  std::uint64_t whole = 0;
  std::uint64_t divisor = 1;
  bool point = false;
  bool any = false;
  for (const char letter : digits) {
    if (letter == '.' && !point && any) {
      point = true;
      continue;
    }
    if (letter < '0' || letter > '9' || whole > (~std::uint64_t{0} - 9) / 10) {
      return std::nullopt;
    }
    whole = whole * 10 + static_cast<std::uint64_t>(letter - '0');
    if (point && divisor > factor) {
      return std::nullopt;
    }
    divisor *= point ? 10 : 1;
    any = true;
  }
  // "1." is not a number. Common powers of ten of factor and divisor are cancelled first, which
  // avoids most overflows.
  if (!any || digits.back() == '.') {
    return std::nullopt;
  }
  while (divisor % 10 == 0 && factor % 10 == 0) {
    divisor /= 10;
    factor /= 10;
  }
  if (factor != 0 && whole > ~std::uint64_t{0} / factor) {
    return std::nullopt;
  }
  const std::uint64_t product = whole * factor;
  return product % divisor == 0 ? std::optional(product / divisor) : std::nullopt;
}

template <std::size_t n>
std::optional<std::uint64_t> with_unit(std::string_view text,
                                       const std::array<NamedUnit, n>& units) {
  const std::size_t end = text.find_first_not_of("0123456789.");
  if (end == std::string_view::npos || end == 0) {
    return std::nullopt;
  }
  std::string_view unit = text.substr(end);
  if (unit.front() == ' ') {
    unit.remove_prefix(1);
  }
  for (const NamedUnit& each : units) {
    if (unit == each.name) {
      return scaled(text.substr(0, end), each.factor);
    }
  }
  return std::nullopt;
}

std::optional<std::uint32_t> small_number(std::string_view text, std::uint32_t most, int base) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size() || value > most) {
    return std::nullopt;
  }
  return value;
}

/// Splits into exactly n numbers of at most 255; nothing if that fails.
template <std::size_t n>
std::optional<std::array<std::uint8_t, n>> octets(std::string_view text, char separator, int base) {
  std::array<std::uint8_t, n> out{};
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t end = text.find(separator);
    if ((end == std::string_view::npos) != (i + 1 == n)) {
      return std::nullopt;
    }
    const auto value = small_number(text.substr(0, end), 255, base);
    if (!value) {
      return std::nullopt;
    }
    out[i] = static_cast<std::uint8_t>(*value);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

/// The 16-bit groups of one side of a "::", or of a whole address; at most eight.
std::optional<std::vector<std::uint16_t>> groups(std::string_view text) {
  std::vector<std::uint16_t> out;
  while (!text.empty()) {
    const std::size_t end = text.find(':');
    const std::string_view group = text.substr(0, end);
    const auto value = small_number(group, 0xffff, 16);
    const bool last = end == std::string_view::npos;
    if (!value || group.size() > 4 || out.size() == 8 || (!last && end + 1 == text.size())) {
      return std::nullopt;
    }
    out.push_back(static_cast<std::uint16_t>(*value));
    text.remove_prefix(last ? text.size() : end + 1);
  }
  return out;
}

/// RFC 4291 2.2, without the form that ends in dotted decimal.
std::optional<IpAddress> parse_ipv6(std::string_view text) {
  const std::size_t gap = text.find("::");
  const bool has_gap = gap != std::string_view::npos;
  auto front = groups(text.substr(0, gap));
  const auto back = has_gap ? groups(text.substr(gap + 2)) : std::vector<std::uint16_t>{};
  if (!front || !back || front->size() + back->size() > (has_gap ? 7u : 8u) ||
      (!has_gap && front->size() != 8)) {
    return std::nullopt;
  }
  front->resize(8 - back->size());
  front->insert(front->end(), back->begin(), back->end());
  IpAddress out;
  for (std::size_t i = 0; i < 8; ++i) {
    std::uint64_t& half = i < 4 ? out.high : out.low;
    half = half << 16 | (*front)[i];
  }
  return out;
}

}  // namespace

std::optional<Duration> parse_duration(std::string_view text) {
  constexpr std::array<NamedUnit, 6> units{{{"ns", 1},
                                            {"us", 1'000},
                                            {"ms", 1'000'000},
                                            {"s", 1'000'000'000},
                                            {"min", 60'000'000'000},
                                            {"h", 3'600'000'000'000}}};
  const auto ns = with_unit(text, units);
  return ns ? std::optional(Duration{*ns}) : std::nullopt;
}

std::optional<std::uint64_t> parse_rate(std::string_view text) {
  constexpr std::array<NamedUnit, 4> units{
      {{"bit/s", 1}, {"kbit/s", 1'000}, {"Mbit/s", 1'000'000}, {"Gbit/s", 1'000'000'000}}};
  return with_unit(text, units);
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  constexpr std::array<NamedUnit, 7> units{{{"B", 1},
                                            {"KiB", 1u << 10},
                                            {"MiB", 1u << 20},
                                            {"GiB", 1u << 30},
                                            {"kB", 1'000},
                                            {"MB", 1'000'000},
                                            {"GB", 1'000'000'000}}};
  return with_unit(text, units);
}

std::optional<Probability> parse_probability(std::string_view text) {
  std::uint64_t factor = Probability::certain;
  if (!text.empty() && text.back() == '%') {
    factor /= 100;
    text.remove_suffix(1);
  }
  if (text.empty()) {
    return std::nullopt;
  }
  const auto per_billion = scaled(text, factor);
  if (!per_billion || *per_billion > Probability::certain) {
    return std::nullopt;
  }
  return Probability{static_cast<std::uint32_t>(*per_billion)};
}

std::optional<IpAddress> parse_address(std::string_view text) {
  if (text.find(':') != std::string_view::npos) {
    return parse_ipv6(text);
  }
  const auto parts = octets<4>(text, '.', 10);
  if (!parts) {
    return std::nullopt;
  }
  const auto& p = *parts;
  return IpAddress::v4(p[0], p[1], p[2], p[3]);
}

std::optional<AddressAndPrefix> parse_address_and_prefix(std::string_view text) {
  AddressAndPrefix out;
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) {
    return std::nullopt;
  }
  const auto address = parse_address(text.substr(0, slash));
  if (!address) {
    return std::nullopt;
  }
  const auto bits = small_number(text.substr(slash + 1), address->is_v4() ? 32 : 128, 10);
  if (!bits) {
    return std::nullopt;
  }
  out.prefix_bits = static_cast<std::uint8_t>(*bits);
  out.address = *address;
  return out;
}

std::optional<Config> profile_by_name(std::string_view name) {
  if (name == "default") {
    return Config{};
  }
  if (name == "rfc") {
    return profile_rfc();
  }
  if (name == "linux") {
    return profile_linux();
  }
  if (name == "freebsd") {
    return profile_freebsd();
  }
  return std::nullopt;
}

std::optional<Mac> parse_mac(std::string_view text) {
  const auto parts = octets<6>(text, ':', 16);
  return parts ? std::optional(Mac{*parts}) : std::nullopt;
}

}  // namespace lockstep::tools
