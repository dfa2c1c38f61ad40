// Writes the head of a response, and the short body of an error, into a fixed buffer.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "tools/lib/http/range.hpp"
#include "tools/lib/http/status.hpp"

namespace lockstep::http {

/// The properties of a response that its head shows.
struct ResponseHead {
  Status status = Status::ok;
  std::string_view type = {};  ///< Content-Type of a body that is not an error's status line
  std::uint64_t length = 0;    ///< of the whole resource
  ByteRange range = {};        ///< the range that a 206 carries
  bool keep_alive = true;
  bool to_http_1_0 = false;        ///< an HTTP/1.0 client: keep-alive must be announced
  bool without_body = false;       ///< the response to HEAD
  std::string_view text = {};      ///< a short body, written after the head
  bool to_sink = false;            ///< 405 for the sink, which allows other methods
  std::string_view date = {};      ///< Date; empty: the server has no clock (RFC 9110 6.6.1)
  std::string_view etag = {};      ///< of a file; empty: none
  std::string_view modified = {};  ///< Last-Modified; empty: none
  std::string_view location = {};  ///< of a 301; at most location_max octets
};

inline constexpr std::uint32_t location_max = 768;
/// The longest head, including an error's body.
inline constexpr std::uint32_t head_bytes_max = 512 + location_max;

/// Writes the head into `into` and returns its length in octets. Errors include their body.
std::uint32_t write_head(const ResponseHead& head, std::span<char, head_bytes_max> into);

}  // namespace lockstep::http
