// Writes the head of a response, and the few octets of an error's body, into fixed room.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "tools/lib/http/range.hpp"
#include "tools/lib/http/status.hpp"

namespace lockstep::http {

/// What a response says of itself.
struct ResponseHead {
  Status status = Status::ok;
  std::string_view type = {};  ///< of a body that is not the status itself
  std::uint64_t length = 0;    ///< of the resource
  ByteRange range = {};        ///< of 206
  bool keep_alive = true;
  bool to_http_1_0 = false;    ///< whose clients have to be told that the connection goes on
  bool without_body = false;   ///< the answer to HEAD
  std::string_view text = {};  ///< a short body of its own, written behind the head
  bool to_sink = false;        ///< what is not allowed was asked of the sink
};

/// The longest head, its error's body included.
inline constexpr std::uint32_t head_bytes_max = 384;

/// Writes it and says how many octets it has. Errors bring their body with them. No Date field: the
/// server has no clock (RFC 9110 6.6.1).
std::uint32_t write_head(const ResponseHead& head, std::span<char, head_bytes_max> into);

}  // namespace lockstep::http
