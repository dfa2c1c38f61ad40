// SipHash over the frames of a capture, and as the stream that masks octets.
#include "tools/verbs/anonymise/secret.hpp"

#include <algorithm>
#include <bit>

#include "tools/base/capture/octets.hpp"

namespace lockstep::tools {
namespace {

constexpr std::size_t word_octets = 8;

std::uint64_t short_word(std::span<const std::byte> octets) {
  std::uint64_t out = 0;
  for (std::size_t i = octets.size(); i-- > 0;) {
    out = out << 8 | octet_at(octets, i);
  }
  return out;
}

/// A permutation of the 256 values, one of 2^15.
std::byte permuted(std::byte octet, std::uint64_t which) {
  auto const mixed = static_cast<std::uint8_t>(std::to_integer<unsigned>(octet) ^ (which & 0xff));
  auto const odd = static_cast<unsigned>(which >> 8 & 0xff) | 1u;
  return std::byte{std::rotl(static_cast<std::uint8_t>(mixed * odd), 3)};
}

void add_octets(SecretHash& hash, std::span<const std::byte> octets) {
  hash.add(octets.size());
  for (std::size_t at = 0; at < octets.size(); at += word_octets) {
    hash.add(short_word(octets.subspan(at, std::min(word_octets, octets.size() - at))));
  }
}

}  // namespace

void SecretOf::take(const CapturedFrame& frame) {
  for (SecretHash* const hash : {&first_, &second_}) {
    hash->add(frame.time.ns);
    hash->add(frame.original_bytes);
    add_octets(*hash, frame.bytes);
  }
}

HashKey SecretOf::secret(std::uint64_t seed) const {
  return derived({first_.finish(), second_.finish()}, seed);
}

HashKey derived(const HashKey& secret, std::uint64_t purpose) {
  SecretHash one(secret), other(secret);
  one.add(purpose).add(1);
  other.add(purpose).add(2);
  return {one.finish(), other.finish()};
}

StreamMask::StreamMask(const HashKey& secret, const Endpoint& source, const Endpoint& destination) {
  SecretHash one(secret);
  for (const Endpoint& end : {source, destination}) {
    one.add(end.address.high).add(end.address.low).add(end.port.value);
  }
  SecretHash other = one;
  key_ = {one.add(1).finish(), other.add(2).finish()};
}

void StreamMask::apply(std::span<std::byte> octets, std::uint32_t sequence) const {
  constexpr std::uint32_t at_once = 4;  // 16 bits for each octet
  std::uint64_t drawn = 0;
  for (std::size_t i = 0; i < octets.size(); ++i) {
    auto const number = static_cast<std::uint32_t>(sequence + i);
    if (i == 0 || number % at_once == 0) {
      drawn = SecretHash(key_).add(number / at_once).finish();
    }
    octets[i] = permuted(octets[i], drawn >> (number % at_once * 16) & 0xffff);
  }
}

std::vector<std::byte> replaced(const HashKey& key, std::span<const std::byte> octets) {
  std::vector<std::byte> out(octets.begin(), octets.end());
  SecretHash all(key);
  // One to three octets are few enough values for two of them to meet.
  if (constexpr std::size_t short_most = 3; octets.size() > short_most) {
    add_octets(all, octets);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint64_t const drawn = SecretHash(all).add(i).finish();
    bool const is_short = octets.size() <= 3;
    out[i] = is_short ? permuted(out[i], drawn) : std::byte{static_cast<std::uint8_t>(drawn)};
  }
  return out;
}

}  // namespace lockstep::tools
