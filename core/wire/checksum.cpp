// Checksums: choice of the implementation, and all that does not depend on it.
#include "core/wire/checksum.hpp"

#include "core/units/check.hpp"
#include "core/wire/checksum_means.hpp"
#include "core/wire/octets.hpp"

namespace lockstep::wire {
namespace {

// For shorter runs, setting up vectors costs more than it saves.
constexpr std::size_t vector_bytes_min = 96;

constinit Loops loops{sum_scalar, copy_scalar};
constinit ChecksumMeans chosen_means = ChecksumMeans::scalar;

Loops loops_of(ChecksumMeans means) {
#if defined(__x86_64__) || defined(__i386__)
  switch (means) {
    case ChecksumMeans::sse2:
      return {sum_sse2, copy_sse2};
    case ChecksumMeans::avx2:
      return {sum_avx2, copy_avx2};
    case ChecksumMeans::avx512:
      return {sum_avx512, copy_avx512};
    case ChecksumMeans::scalar:
      break;
  }
#endif
  CHECK(means == ChecksumMeans::scalar);
  return {sum_scalar, copy_scalar};
}

// Sums computed before this runs use the scalar loops, with the same results.
ChecksumMeans choose() {
  for (ChecksumMeans means : {ChecksumMeans::avx512, ChecksumMeans::avx2, ChecksumMeans::sse2}) {
    if (checksum_means_available(means)) {
      use_checksum_means(means);
      break;
    }
  }
  return chosen_means;
}

[[maybe_unused]] ChecksumMeans const chosen_at_start = choose();

// Converts a sum of host-order words to a partial sum: because of the end-around carry, swapping
// the octets of the folded sum equals swapping those of every word (RFC 1071 2(B)).
Partial partial_of(std::uint64_t total, std::size_t size) {
  Partial const host{total, false};
  return {network16(host.folded()), (size & 1) != 0};
}

}  // namespace

bool checksum_means_available(ChecksumMeans means) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
  switch (means) {
    case ChecksumMeans::sse2:
      return __builtin_cpu_supports("sse2") != 0;
    case ChecksumMeans::avx2:
      return __builtin_cpu_supports("avx2") != 0;
    case ChecksumMeans::avx512:
      return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
             __builtin_cpu_supports("avx512vnni") != 0;
    case ChecksumMeans::scalar:
      break;
  }
#endif
  return means == ChecksumMeans::scalar;
}

ChecksumMeans checksum_means() { return chosen_means; }

ChecksumMeans use_checksum_means(ChecksumMeans means) {
  CHECK(checksum_means_available(means));
  ChecksumMeans const previous = chosen_means;
  chosen_means = means;
  loops = loops_of(means);
  return previous;
}

[[gnu::noinline]] Partial sum(std::span<const std::byte> bytes) {
  if (bytes.size() < vector_bytes_min) {
    return partial_of(sum_scalar(bytes.data(), bytes.size()), bytes.size());
  }
  std::uint64_t total = 0;
  std::span<const std::byte> rest = bytes;
  while (rest.size() > loop_bytes_max) [[unlikely]] {
    total = add_around(total, loops.sum(rest.data(), loop_bytes_max));
    rest = rest.subspan(loop_bytes_max);
  }
  return partial_of(add_around(total, loops.sum(rest.data(), rest.size())), bytes.size());
}

Partial copy_and_sum(std::span<std::byte> into, std::span<const std::byte> from) {
  CHECK(into.size() >= from.size());
  CHECK(from.size() <= loop_bytes_max);
  std::uint64_t const total = from.size() < vector_bytes_min
                                  ? copy_scalar(into.data(), from.data(), from.size())
                                  : loops.copy(into.data(), from.data(), from.size());
  return partial_of(total, from.size());
}

//= rfc1624#3
//# 1624:CSUM-1 HC' = ~(~HC + ~m + m')
//# 1624:CSUM-2 not HC + m + ~m', which may give FFFF instead of 0000
std::uint16_t updated_checksum(std::uint16_t checksum, WordChange change) {
  std::uint64_t const total = std::uint64_t{static_cast<std::uint16_t>(~checksum)} +
                              static_cast<std::uint16_t>(~change.before) + change.after;
  return Partial{total, false}.checksum();
}

ChecksumTable build_checksum_table(std::span<const std::byte> content,
                                   std::span<std::uint16_t> entries, std::uint32_t stride_bytes) {
  CHECK(stride_bytes != 0 && stride_bytes % 2 == 0);
  CHECK(entries.size() == checksum_table_entries(content.size(), stride_bytes));
  Partial running;
  entries[0] = 0;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    running = combine(running, sum(content.subspan((i - 1) * stride_bytes, stride_bytes)));
    entries[i] = running.folded();
  }
  return {entries, stride_bytes};
}

Partial table_sum(const ChecksumTable& table, std::span<const std::byte> content,
                  ContentRange range) {
  CHECK(range.offset <= content.size());
  CHECK(range.length <= content.size() - range.offset);
  auto const begin = static_cast<std::size_t>(range.offset);
  std::size_t const end = begin + range.length;
  if (table.empty()) {
    return sum(content.subspan(begin, range.length));
  }
  std::size_t const stride = table.stride_bytes;
  std::size_t const first = (begin + stride - 1) / stride;  // whole strides: [first, last)
  std::size_t const last = end / stride;
  if (first >= last) {
    return sum(content.subspan(begin, range.length));
  }
  // In one's complement, subtraction is addition of the complement.
  std::uint16_t const less = static_cast<std::uint16_t>(~table.prefixes[first]);
  Partial const whole{std::uint64_t{table.prefixes[last]} + less, false};
  // The head ends at an even offset but may begin at an odd one; then the whole strides follow an
  // odd number of octets, which combine() handles.
  Partial const head = sum(content.subspan(begin, first * stride - begin));
  Partial const tail = sum(content.subspan(last * stride, end - last * stride));
  return combine(combine(head, whole), tail);
}

}  // namespace lockstep::wire
