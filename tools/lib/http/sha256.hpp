// SHA-256 of octets as they come, by Nettle: what an upload came to, without keeping it.
#pragma once

#include <nettle/sha2.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace lockstep::http {

/// Holds no memory but its own, so that one can stand in every connection, and in a snapshot of it.
class Sha256 {
 public:
  static constexpr std::uint32_t hex_length = 2 * SHA256_DIGEST_SIZE;
  using Hex = std::array<char, hex_length>;

  Sha256() { nettle_sha256_init(&state_); }
  void add(std::span<const std::byte> octets);
  std::uint64_t octets() const { return octets_; }
  /// Of all that has been added, which goes on unchanged.
  Hex hex() const;

 private:
  sha256_ctx state_{};
  std::uint64_t octets_ = 0;
};

}  // namespace lockstep::http
