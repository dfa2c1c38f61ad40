// The secret of one anonymised file, and what is drawn from it: masks of octets, and numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/units/address.hpp"
#include "core/units/hash.hpp"
#include "tools/base/capture/capture.hpp"

namespace lockstep::tools {

/// Draws the secret from every octet and time of a capture, so that nobody without the capture can
/// compute it, also if the seed is known.
class SecretOf {
 public:
  void take(const CapturedFrame& frame);
  HashKey secret(std::uint64_t seed) const;

 private:
  SecretHash first_{HashKey{0x6c6f'636b, 0x7374'6570}}, second_{HashKey{0x616e'6f6e, 0x796d'6973}};
};

/// A secret for one purpose.
HashKey derived(const HashKey& secret, std::uint64_t purpose);

/// Replaces each octet of one direction of a connection by a permutation of its value that depends
/// on its sequence number: equal octets at equal numbers stay equal, and different ones different.
class StreamMask {
 public:
  StreamMask(const HashKey& secret, const Endpoint& source, const Endpoint& destination);
  void apply(std::span<std::byte> octets, std::uint32_t sequence) const;

 private:
  HashKey key_;
};

/// As many octets, the same for the same octets. Two different short texts have different results.
std::vector<std::byte> replaced(const HashKey& key, std::span<const std::byte> octets);

}  // namespace lockstep::tools
