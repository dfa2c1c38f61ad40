// Incremental SHA-256 by Nettle: hashes an upload without storing it.
#pragma once

#include <nettle/sha2.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lockstep::http {

/// Uses no memory outside the object, so that every connection and every snapshot can contain one.
class Sha256 {
 public:
  static constexpr std::uint32_t hex_length = 2 * SHA256_DIGEST_SIZE;
  using Hex = std::array<char, hex_length>;

  Sha256() { nettle_sha256_init(&state_); }
  void add(std::span<const std::byte> octets);
  std::uint64_t octets() const { return octets_; }
  /// The digest of everything added so far; adding may continue.
  Hex hex() const;

 private:
  sha256_ctx state_{};
  std::uint64_t octets_ = 0;
};

}  // namespace lockstep::http
