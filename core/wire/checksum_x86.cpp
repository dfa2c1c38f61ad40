// The checksum loops with x86 vector instructions, each compiled for its own instruction set.
#if defined(__x86_64__) || defined(__i386__)

#include <immintrin.h>

#include "core/wire/checksum_means.hpp"

// SSE2 and AVX2 multiply and add neighbouring words, but signed: 2^15 is subtracted from each word
// first, and added back at the end. AVX-512 sums octets at even and odd offsets separately
// (VPDPBUSD). A 32-bit lane can hold the words of chunk_bytes_max octets.

namespace lockstep::wire {
namespace {

#define LOCKSTEP_TARGET_SSE2 __attribute__((target("sse2")))
#define LOCKSTEP_TARGET_AVX2 __attribute__((target("avx2")))
#define LOCKSTEP_TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx512vnni")))

// At most this many octets are summed before the lanes are emptied.
constexpr std::size_t chunk_bytes_max = std::size_t{1} << 18;

LOCKSTEP_TARGET_SSE2 inline __m128i add(__m128i sum, __m128i words) {
  __m128i const with_sign = _mm_xor_si128(words, _mm_set1_epi16(-0x8000));
  return _mm_add_epi32(sum, _mm_madd_epi16(with_sign, _mm_set1_epi16(1)));
}

// Adds the lanes of `sum` over `size` octets, and restores what was subtracted from each word.
LOCKSTEP_TARGET_SSE2 inline std::uint64_t total(__m128i sum, std::size_t size) {
  alignas(16) std::int32_t lanes[4];
  _mm_store_si128(reinterpret_cast<__m128i*>(lanes), sum);
  std::int64_t const signed_total =
      std::int64_t{lanes[0]} + lanes[1] + (std::int64_t{lanes[2]} + lanes[3]);
  return static_cast<std::uint64_t>(signed_total) + size / 2 * 0x8000;
}

LOCKSTEP_TARGET_AVX2 inline __m256i add(__m256i sum, __m256i words) {
  __m256i const with_sign = _mm256_xor_si256(words, _mm256_set1_epi16(-0x8000));
  return _mm256_add_epi32(sum, _mm256_madd_epi16(with_sign, _mm256_set1_epi16(1)));
}

LOCKSTEP_TARGET_AVX2 inline std::uint64_t total(__m256i sum, std::size_t size) {
  __m256i const low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(sum));
  __m256i const high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256(sum, 1));
  __m256i const both = _mm256_add_epi64(low, high);
  __m128i const half =
      _mm_add_epi64(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
  alignas(16) std::uint64_t lanes[2];
  _mm_store_si128(reinterpret_cast<__m128i*>(lanes), half);
  return lanes[0] + lanes[1] + size / 2 * 0x8000;
}

struct Avx2Sum {
  __m256i low;
  __m256i high;
};

// Each 32-bit lane is unsigned: widened before the lanes are added.
LOCKSTEP_TARGET_AVX2 inline void widen(Avx2Sum& sum, __m256i counts) {
  sum.low = _mm256_add_epi64(sum.low, _mm256_and_si256(counts, _mm256_set1_epi64x(0xffff'ffff)));
  sum.high = _mm256_add_epi64(sum.high, _mm256_srli_epi64(counts, 32));
}

struct Avx512Sum {
  __m512i even;
  __m512i odd;
};

LOCKSTEP_TARGET_AVX512 inline void add(Avx512Sum& sum, __m512i octets) {
  sum.even = _mm512_dpbusd_epi32(sum.even, octets, _mm512_set1_epi16(0x0001));
  sum.odd = _mm512_dpbusd_epi32(sum.odd, octets, _mm512_set1_epi16(0x0100));
}

// Via memory and AVX2, because gcc 12 warns about its own header for the AVX-512 versions.
LOCKSTEP_TARGET_AVX512 inline std::uint64_t total(const Avx512Sum& sum) {
  alignas(64) std::byte lanes[128];
  _mm512_store_si512(lanes, sum.even);
  _mm512_store_si512(lanes + 64, sum.odd);
  Avx2Sum even{_mm256_setzero_si256(), _mm256_setzero_si256()};
  Avx2Sum odd = even;
  widen(even, _mm256_load_si256(reinterpret_cast<const __m256i*>(lanes)));
  widen(even, _mm256_load_si256(reinterpret_cast<const __m256i*>(lanes + 32)));
  widen(odd, _mm256_load_si256(reinterpret_cast<const __m256i*>(lanes + 64)));
  widen(odd, _mm256_load_si256(reinterpret_cast<const __m256i*>(lanes + 96)));
  odd.low = _mm256_slli_epi64(odd.low, 8);
  odd.high = _mm256_slli_epi64(odd.high, 8);
  __m256i const both =
      _mm256_add_epi64(_mm256_add_epi64(even.low, odd.low), _mm256_add_epi64(even.high, odd.high));
  __m128i const half =
      _mm_add_epi64(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
  alignas(16) std::uint64_t sums[2];
  _mm_store_si128(reinterpret_cast<__m128i*>(sums), half);
  return sums[0] + sums[1];
}

// Sums `size` octets, a multiple of 32 and at most chunk_bytes_max, and copies them to `into`
// unless it is null.
template <bool copies>
LOCKSTEP_TARGET_SSE2 inline std::uint64_t chunk_sse2(std::byte* into, const std::byte* from,
                                                     std::size_t size) {
  __m128i first = _mm_setzero_si128();
  __m128i second = first;
  for (std::size_t at = 0; at < size; at += 32) {
    __m128i const a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at));
    __m128i const b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at + 16));
    if constexpr (copies) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(into + at), a);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(into + at + 16), b);
    }
    first = add(first, a);
    second = add(second, b);
  }
  return total(first, size / 2) + total(second, size / 2);
}

template <bool copies>
LOCKSTEP_TARGET_AVX2 inline std::uint64_t chunk_avx2(std::byte* into, const std::byte* from,
                                                     std::size_t size) {
  __m256i first = _mm256_setzero_si256();
  __m256i second = first;
  std::size_t at = 0;
  for (; size - at >= 128; at += 128) {
    __m256i const a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at));
    __m256i const b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at + 32));
    __m256i const c = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at + 64));
    __m256i const d = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at + 96));
    if constexpr (copies) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(into + at), a);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(into + at + 32), b);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(into + at + 64), c);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(into + at + 96), d);
    }
    first = add(add(first, a), b);
    second = add(add(second, c), d);
  }
  for (; at < size; at += 32) {
    __m256i const a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at));
    if constexpr (copies) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(into + at), a);
    }
    first = add(first, a);
  }
  // Both lanes together fit into 32 bits: half a chunk each, as chunk_bytes_max permits.
  return total(_mm256_add_epi32(first, second), size);
}

// Splits a run into chunks, and leaves less than a vector to the scalar loop.
template <bool copies, class Chunk>
inline std::uint64_t run(std::byte* into, const std::byte* from, std::size_t size, Chunk chunk) {
  std::uint64_t sum = 0;
  while (size >= 32) {
    std::size_t const whole = size & ~std::size_t{31};
    std::size_t const part = whole < chunk_bytes_max ? whole : chunk_bytes_max;
    sum += chunk(into, from, part);
    from += part;
    size -= part;
    if constexpr (copies) {
      into += part;
    }
  }
  if constexpr (copies) {
    return add_around(sum, copy_scalar(into, from, size));
  } else {
    return add_around(sum, sum_scalar(from, size));
  }
}

}  // namespace

std::uint64_t sum_sse2(const std::byte* from, std::size_t size) {
  return run<false>(nullptr, from, size, chunk_sse2<false>);
}

std::uint64_t copy_sse2(std::byte* into, const std::byte* from, std::size_t size) {
  return run<true>(into, from, size, chunk_sse2<true>);
}

std::uint64_t sum_avx2(const std::byte* from, std::size_t size) {
  return run<false>(nullptr, from, size, chunk_avx2<false>);
}

std::uint64_t copy_avx2(std::byte* into, const std::byte* from, std::size_t size) {
  return run<true>(into, from, size, chunk_avx2<true>);
}

LOCKSTEP_TARGET_AVX512 std::uint64_t sum_avx512(const std::byte* from, std::size_t size) {
  Avx512Sum first{_mm512_setzero_si512(), _mm512_setzero_si512()};
  Avx512Sum second = first;
  std::size_t at = 0;
  for (; size - at >= 256; at += 256) {
    add(first, _mm512_loadu_si512(from + at));
    add(second, _mm512_loadu_si512(from + at + 64));
    add(first, _mm512_loadu_si512(from + at + 128));
    add(second, _mm512_loadu_si512(from + at + 192));
  }
  for (; size - at >= 64; at += 64) {
    add(first, _mm512_loadu_si512(from + at));
  }
  if (at < size) {
    // Octets beyond the end are neither read nor counted.
    __mmask64 const rest = (std::uint64_t{1} << (size - at)) - 1;
    add(second, _mm512_maskz_loadu_epi8(rest, from + at));
  }
  return total(first) + total(second);
}

LOCKSTEP_TARGET_AVX512 std::uint64_t copy_avx512(std::byte* into, const std::byte* from,
                                                 std::size_t size) {
  Avx512Sum first{_mm512_setzero_si512(), _mm512_setzero_si512()};
  Avx512Sum second = first;
  std::size_t at = 0;
  for (; size - at >= 128; at += 128) {
    __m512i const a = _mm512_loadu_si512(from + at);
    __m512i const b = _mm512_loadu_si512(from + at + 64);
    _mm512_storeu_si512(into + at, a);
    _mm512_storeu_si512(into + at + 64, b);
    add(first, a);
    add(second, b);
  }
  if (size - at >= 64) {
    __m512i const a = _mm512_loadu_si512(from + at);
    _mm512_storeu_si512(into + at, a);
    add(first, a);
    at += 64;
  }
  if (at < size) {
    __mmask64 const rest = (std::uint64_t{1} << (size - at)) - 1;
    __m512i const a = _mm512_maskz_loadu_epi8(rest, from + at);
    _mm512_mask_storeu_epi8(into + at, rest, a);
    add(second, a);
  }
  return total(first) + total(second);
}

}  // namespace lockstep::wire

#endif
