// Reads one response, however its octets are split, and compares it with what was expected.
#pragma once

#include <http_parser.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "core/units/bytes.hpp"
#include "tools/lib/load/counters.hpp"
#include "tools/lib/load/plan.hpp"

namespace lockstep::load {

/// The body that a response should have.
struct Expected {
  std::uint64_t length = Item::unknown;
  std::uint64_t from = 0;                   ///< where it begins in the pattern
  std::span<const std::byte> pattern = {};  ///< empty: the content is not compared
  bool is_stored = false;                   ///< memcached: the response to a set
};

enum class Progress : std::uint8_t { more, complete, failed };

/// Compares the octets of a body, as they arrive, with the repeated pattern.
class BodyCheck {
 public:
  void begin(const Expected& expected) {
    expected_ = expected;
    seen_ = 0;
  }
  /// The first fault of these octets.
  Fault take(std::span<const std::byte> octets);
  /// The body ends here.
  Fault end() const;
  std::uint64_t seen() const { return seen_; }

 private:
  Expected expected_;
  std::uint64_t seen_ = 0;
};

// Each has begin(), then read(), called until it does not return `more`. read() consumes the octets
// at the front of `octets` that belong to the response and sets `used` to their number.

/// Parses with http_parser. A body without a length ends with the connection.
class HttpReply {
 public:
  void begin(const Expected& expected);
  Progress read(std::span<const std::byte> octets, Bytes& used);
  /// The peer has sent its FIN.
  Progress ended();
  Fault fault() const { return fault_; }
  std::uint64_t body_octets() const { return body_.seen(); }
  /// Whether the connection stays open after it.
  bool keeps_alive() const { return keeps_alive_; }

 private:
  static constexpr std::uint32_t head_max = 65'536;
  static const http_parser_settings& callbacks();
  static int on_headers_complete(http_parser* parser);
  static int on_body(http_parser* parser, const char* at, std::size_t length);
  static int on_message_complete(http_parser* parser);
  Progress after(bool whole);
  int fail(Fault fault);

  http_parser parser_{};
  BodyCheck body_;
  Fault fault_ = Fault::none;
  bool head_done_ = false;
  bool complete_ = false;
  bool keeps_alive_ = false;
  std::uint32_t head_octets_ = 0;
};

/// Expects the octets that were sent, unchanged.
class EchoReply {
 public:
  void begin(const Expected& expected) {
    body_.begin(expected);
    left_ = expected.length;
    fault_ = Fault::none;
  }
  Progress read(std::span<const std::byte> octets, Bytes& used);
  Progress ended() { return fail(Fault::closed_early); }
  Fault fault() const { return fault_; }
  std::uint64_t body_octets() const { return body_.seen(); }
  bool keeps_alive() const { return true; }

 private:
  Progress fail(Fault fault) {
    fault_ = fault;
    return Progress::failed;
  }

  BodyCheck body_;
  std::uint64_t left_ = 0;
  Fault fault_ = Fault::none;
};

}  // namespace lockstep::load
