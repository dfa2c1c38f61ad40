// Calls Nettle, and writes the digest in hexadecimal.
#include "tools/lib/http/sha256.hpp"

namespace lockstep::http {

void Sha256::add(std::span<const std::byte> octets) {
  nettle_sha256_update(&state_, octets.size(),
                       reinterpret_cast<const std::uint8_t*>(octets.data()));
  octets_ += octets.size();
}

Sha256::Hex Sha256::hex() const {
  sha256_ctx ended = state_;
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest{};
  nettle_sha256_digest(&ended, digest.size(), digest.data());
  Hex out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = "0123456789abcdef"[digest[i / 2] >> (i % 2 == 0 ? 4 : 0) & 0xf];
  }
  return out;
}

}  // namespace lockstep::http
