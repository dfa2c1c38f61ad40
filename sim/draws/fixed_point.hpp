// Logarithm and power of two in fixed point: integers only, the same result on every machine.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "core/units/check.hpp"

namespace lockstep::sim {

// The product of two 64-bit numbers.
struct WideProduct {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};

constexpr WideProduct wide_product(std::uint64_t a, std::uint64_t b) {  // NOLINT: commutative
  constexpr std::uint64_t mask = 0xffff'ffff;
  std::uint64_t const low = (a & mask) * (b & mask);
  std::uint64_t const cross = (a >> 32) * (b & mask) + (low >> 32);
  std::uint64_t const other = (a & mask) * (b >> 32) + (cross & mask);
  return {(a >> 32) * (b >> 32) + (cross >> 32) + (other >> 32), other << 32 | (low & mask)};
}

// A number with 32 fractional bits, not negative.
struct Fixed32 {
  std::uint64_t value = 0;
  constexpr bool operator==(const Fixed32&) const = default;
};

// `number` times `factor`, rounded down; the largest number if that does not fit.
constexpr std::uint64_t scaled(std::uint64_t number, Fixed32 factor) {
  WideProduct const product = wide_product(number, factor.value);
  return product.high >> 32 != 0 ? ~std::uint64_t{0} : product.high << 32 | product.low >> 32;
}

// The logarithm to base 2 of a number from 1 on; too small by at most 2^-31.
constexpr Fixed32 log2_of(std::uint64_t number) {
  CHECK(number != 0);
  auto const whole = static_cast<std::uint32_t>(63 - std::countl_zero(number));
  // 63 fractional bits, from 1 up to 2. Squaring doubles the logarithm: its next bit appears.
  std::uint64_t mantissa = number << (63 - whole);
  std::uint64_t out = whole;
  for (std::uint32_t bit = 0; bit < 32; ++bit) {
    WideProduct const square = wide_product(mantissa, mantissa);
    bool const over = square.high >> 63 != 0;
    mantissa = over ? square.high : square.high << 1 | square.low >> 63;
    out = out << 1 | (over ? 1u : 0u);
  }
  return {out};
}

// 2^(1/2), 2^(1/4), 2^(1/8) and so on, with 63 fractional bits.
inline constexpr std::array<std::uint64_t, 32> roots_of_two{
    0xb504'f333'f9de'6484, 0x9837'f051'8db8'a96f, 0x8b95'c1e3'ea8b'd6e7, 0x85aa'c367'cc48'7b15,
    0x82cd'8698'ac2b'a1d7, 0x8164'd1f3'bc03'0773, 0x80b1'ed4f'd999'ab6c, 0x8058'd7d2'd5e5'f6b1,
    0x802c'6436'd0e0'4f51, 0x8016'302f'1746'7628, 0x800b'179c'8202'8fd1, 0x8005'8baf'7fee'3b5d,
    0x8002'c5d0'0fdc'fcb7, 0x8001'62e6'1bed'4a49, 0x8000'b172'92f7'02a4, 0x8000'58b9'2abb'ae02,
    0x8000'2c5c'8dad'e4d7, 0x8000'162e'44ea'f636, 0x8000'0b17'21fa'7c19, 0x8000'058b'90de'7e4d,
    0x8000'02c5'c867'8f37, 0x8000'0162'e431'dba0, 0x8000'00b1'7218'72d1, 0x8000'0058'b90c'1aa9,
    0x8000'002c'5c86'05a4, 0x8000'0016'2e43'00e6, 0x8000'000b'1721'7ff8, 0x8000'0005'8b90'bfdd,
    0x8000'0002'c5c8'5fe7, 0x8000'0001'62e4'2ff2, 0x8000'0000'b172'17f8, 0x8000'0000'58b9'0bfc,
};

// 2 to the power of `exponent`, with 32 fractional bits; the largest number from 2^32 on.
constexpr Fixed32 power_of_two(Fixed32 exponent) {
  std::uint64_t const whole = exponent.value >> 32;
  if (whole >= 32) {
    return {~std::uint64_t{0}};
  }
  std::uint64_t mantissa = std::uint64_t{1} << 63;
  for (std::uint32_t bit = 0; bit < 32; ++bit) {
    if ((exponent.value >> (31 - bit) & 1) != 0) {
      WideProduct const product = wide_product(mantissa, roots_of_two[bit]);
      mantissa = product.high << 1 | product.low >> 63;
    }
  }
  return {mantissa >> (31 - whole)};
}

// The natural logarithm of 2.
inline constexpr Fixed32 ln_of_two{2'977'044'472};

}  // namespace lockstep::sim
