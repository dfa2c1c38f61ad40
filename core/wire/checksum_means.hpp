// The inner loops of the checksum, one pair per instruction set; private to this layer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockstep::wire {

// The sum of `size` octets as 16-bit words in host order, an odd last octet padded with zero; any
// number congruent modulo 65,535, and zero only if every octet is. `size` is at most
// loop_bytes_max, so that no lane overflows.
using SumLoop = std::uint64_t (*)(const std::byte* from, std::size_t size);
// The same, while copying; the two runs do not overlap.
using CopyLoop = std::uint64_t (*)(std::byte* into, const std::byte* from, std::size_t size);

struct Loops {
  SumLoop sum;
  CopyLoop copy;
};

inline constexpr std::size_t loop_bytes_max = std::size_t{1} << 28;

// Adds with end-around carry: congruent modulo 65,535.
constexpr std::uint64_t add_around(std::uint64_t a, std::uint64_t b) {
  std::uint64_t const total = a + b;
  return total + (total < a ? 1 : 0);
}

std::uint64_t sum_scalar(const std::byte* from, std::size_t size);
std::uint64_t copy_scalar(std::byte* into, const std::byte* from, std::size_t size);

#if defined(__x86_64__) || defined(__i386__)
std::uint64_t sum_sse2(const std::byte* from, std::size_t size);
std::uint64_t copy_sse2(std::byte* into, const std::byte* from, std::size_t size);
std::uint64_t sum_avx2(const std::byte* from, std::size_t size);
std::uint64_t copy_avx2(std::byte* into, const std::byte* from, std::size_t size);
std::uint64_t sum_avx512(const std::byte* from, std::size_t size);
std::uint64_t copy_avx512(std::byte* into, const std::byte* from, std::size_t size);
#endif

}  // namespace lockstep::wire
