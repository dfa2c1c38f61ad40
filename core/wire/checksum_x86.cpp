// The checksum's loops with the vector instructions of x86, each compiled for its own kind of CPU.
#if defined(__x86_64__) || defined(__i386__)

#include <immintrin.h>

#include "core/wire/checksum_means.hpp"

// SSE2 and AVX2 add the 32-bit words of each 64-bit lane apart, so that a lane has room for the
// carries of 2^32 additions. AVX-512 sums octets of even and of odd place apart (VPDPBUSD).

namespace lockstep::wire {
namespace {

#define LOCKSTEP_TARGET_SSE2 __attribute__((target("sse2")))
#define LOCKSTEP_TARGET_AVX2 __attribute__((target("avx2")))
#define LOCKSTEP_TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx512vnni")))

struct Sse2Sum {
  __m128i low;
  __m128i high;
};

LOCKSTEP_TARGET_SSE2 inline void add(Sse2Sum& sum, __m128i words) {
  sum.low = _mm_add_epi64(sum.low, _mm_and_si128(words, _mm_set1_epi64x(0xffff'ffff)));
  sum.high = _mm_add_epi64(sum.high, _mm_srli_epi64(words, 32));
}

LOCKSTEP_TARGET_SSE2 inline std::uint64_t total(const Sse2Sum& sum) {
  alignas(16) std::uint64_t lanes[2];
  _mm_store_si128(reinterpret_cast<__m128i*>(lanes), _mm_add_epi64(sum.low, sum.high));
  return lanes[0] + lanes[1];
}

struct Avx2Sum {
  __m256i low;
  __m256i high;
};

LOCKSTEP_TARGET_AVX2 inline void add(Avx2Sum& sum, __m256i words) {
  sum.low = _mm256_add_epi64(sum.low, _mm256_and_si256(words, _mm256_set1_epi64x(0xffff'ffff)));
  sum.high = _mm256_add_epi64(sum.high, _mm256_srli_epi64(words, 32));
}

LOCKSTEP_TARGET_AVX2 inline std::uint64_t total(const Avx2Sum& sum) {
  alignas(32) std::uint64_t lanes[4];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), _mm256_add_epi64(sum.low, sum.high));
  return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

struct Avx512Sum {
  __m512i even;
  __m512i odd;
};

LOCKSTEP_TARGET_AVX512 inline void add(Avx512Sum& sum, __m512i octets) {
  sum.even = _mm512_dpbusd_epi32(sum.even, octets, _mm512_set1_epi16(0x0001));
  sum.odd = _mm512_dpbusd_epi32(sum.odd, octets, _mm512_set1_epi16(0x0100));
}

// Each 32-bit lane is a count without sign: widened before the lanes are added. By way of memory
// and AVX2, as gcc 12 warns of its own header for the AVX-512 forms of these.
LOCKSTEP_TARGET_AVX512 inline std::uint64_t total(const Avx512Sum& sum) {
  alignas(64) std::byte lanes[128];
  _mm512_store_si512(lanes, sum.even);
  _mm512_store_si512(lanes + 64, sum.odd);
  Avx2Sum even{_mm256_setzero_si256(), _mm256_setzero_si256()};
  Avx2Sum odd = even;
  add(even, _mm256_load_si256(reinterpret_cast<const __m256i*>(lanes)));
  add(even, _mm256_load_si256(reinterpret_cast<const __m256i*>(lanes + 32)));
  add(odd, _mm256_load_si256(reinterpret_cast<const __m256i*>(lanes + 64)));
  add(odd, _mm256_load_si256(reinterpret_cast<const __m256i*>(lanes + 96)));
  odd.low = _mm256_slli_epi64(odd.low, 8);
  odd.high = _mm256_slli_epi64(odd.high, 8);
  even.low = _mm256_add_epi64(even.low, odd.low);
  even.high = _mm256_add_epi64(even.high, odd.high);
  return total(even);
}

}  // namespace

LOCKSTEP_TARGET_SSE2 std::uint64_t sum_sse2(const std::byte* from, std::size_t size) {
  Sse2Sum first{_mm_setzero_si128(), _mm_setzero_si128()};
  Sse2Sum second = first;
  std::size_t at = 0;
  for (; size - at >= 32; at += 32) {
    add(first, _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
    add(second, _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at + 16)));
  }
  return add_around(total(first) + total(second), sum_scalar(from + at, size - at));
}

LOCKSTEP_TARGET_SSE2 std::uint64_t copy_sse2(std::byte* into, const std::byte* from,
                                             std::size_t size) {
  Sse2Sum first{_mm_setzero_si128(), _mm_setzero_si128()};
  Sse2Sum second = first;
  std::size_t at = 0;
  for (; size - at >= 32; at += 32) {
    __m128i const a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at));
    __m128i const b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at + 16));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(into + at), a);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(into + at + 16), b);
    add(first, a);
    add(second, b);
  }
  return add_around(total(first) + total(second), copy_scalar(into + at, from + at, size - at));
}

LOCKSTEP_TARGET_AVX2 std::uint64_t sum_avx2(const std::byte* from, std::size_t size) {
  Avx2Sum first{_mm256_setzero_si256(), _mm256_setzero_si256()};
  Avx2Sum second = first;
  std::size_t at = 0;
  for (; size - at >= 128; at += 128) {
    add(first, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at)));
    add(second, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at + 32)));
    add(first, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at + 64)));
    add(second, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at + 96)));
  }
  for (; size - at >= 32; at += 32) {
    add(first, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at)));
  }
  return add_around(total(first) + total(second), sum_scalar(from + at, size - at));
}

LOCKSTEP_TARGET_AVX2 std::uint64_t copy_avx2(std::byte* into, const std::byte* from,
                                             std::size_t size) {
  Avx2Sum first{_mm256_setzero_si256(), _mm256_setzero_si256()};
  Avx2Sum second = first;
  std::size_t at = 0;
  for (; size - at >= 64; at += 64) {
    __m256i const a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at));
    __m256i const b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at + 32));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(into + at), a);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(into + at + 32), b);
    add(first, a);
    add(second, b);
  }
  if (size - at >= 32) {
    __m256i const a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + at));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(into + at), a);
    add(first, a);
    at += 32;
  }
  return add_around(total(first) + total(second), copy_scalar(into + at, from + at, size - at));
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
    // The octets beyond the end are neither read nor counted.
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
