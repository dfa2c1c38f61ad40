// The plain Internet checksum, separate from the core's so that it can check the core's.
#include "tools/base/capture/octets.hpp"

namespace lockstep::tools {

std::uint32_t ones_sum(std::span<const std::byte> bytes, std::uint32_t start) {
  std::uint64_t sum = start;
  std::size_t at = 0;
  for (; at + 1 < bytes.size(); at += 2) {
    sum += word_at(bytes, at);
  }
  if (at < bytes.size()) {
    sum += static_cast<std::uint32_t>(octet_at(bytes, at)) << 8;
  }
  while (sum > 0xffff'ffff) {
    sum = (sum & 0xffff) + (sum >> 16);
  }
  return static_cast<std::uint32_t>(sum);
}

std::uint16_t ones_fold(std::uint32_t sum) {
  std::uint32_t folded = sum;
  while (folded > 0xffff) {
    folded = (folded & 0xffff) + (folded >> 16);
  }
  return static_cast<std::uint16_t>(folded);
}

}  // namespace lockstep::tools
