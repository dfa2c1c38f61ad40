// Time in 64-bit nanoseconds, passed in by the caller, saturating at `never`.
#pragma once

#include <compare>
#include <cstdint>

namespace lockstep {

// A length of time in nanoseconds, never negative, saturating at about 584 years.
struct Duration {
  std::uint64_t ns = 0;

  static constexpr std::uint64_t ns_max = ~std::uint64_t{0};

  static constexpr Duration nanoseconds(std::uint64_t count) { return {count}; }
  static constexpr Duration microseconds(std::uint64_t count) { return scaled(count, 1'000); }
  static constexpr Duration milliseconds(std::uint64_t count) { return scaled(count, 1'000'000); }
  static constexpr Duration seconds(std::uint64_t count) { return scaled(count, 1'000'000'000); }
  static constexpr Duration forever() { return {ns_max}; }

  // count * unit_ns, saturating.
  static constexpr Duration scaled(std::uint64_t count, std::uint64_t unit_ns) {
    if (unit_ns != 0 && count > ns_max / unit_ns) {
      return {ns_max};
    }
    return {count * unit_ns};
  }

  constexpr Duration operator+(Duration other) const {
    return {other.ns > ns_max - ns ? ns_max : ns + other.ns};
  }
  // Stops at zero.
  constexpr Duration operator-(Duration other) const {
    return {other.ns >= ns ? 0 : ns - other.ns};
  }
  constexpr Duration operator*(std::uint64_t factor) const { return scaled(ns, factor); }
  // The divisor must not be zero.
  constexpr Duration operator/(std::uint64_t divisor) const { return {ns / divisor}; }
  constexpr auto operator<=>(const Duration&) const = default;
};

// A point in time: nanoseconds since the caller's origin. `never` is the maximum.
struct Instant {
  std::uint64_t ns = 0;

  static constexpr Instant never() { return {Duration::ns_max}; }

  constexpr bool is_never() const { return ns == Duration::ns_max; }
  // Saturates at never.
  constexpr Instant operator+(Duration later) const {
    return {later.ns > Duration::ns_max - ns ? Duration::ns_max : ns + later.ns};
  }
  // Stops at the origin.
  constexpr Instant operator-(Duration earlier) const {
    return {earlier.ns >= ns ? 0 : ns - earlier.ns};
  }
  // The time from `past` to this; zero if `past` is later.
  constexpr Duration since(Instant past) const { return {past.ns >= ns ? 0 : ns - past.ns}; }
  constexpr auto operator<=>(const Instant&) const = default;
};

constexpr Instant earlier(Instant a, Instant b) { return a < b ? a : b; }
constexpr Instant later(Instant a, Instant b) { return a < b ? b : a; }

}  // namespace lockstep
