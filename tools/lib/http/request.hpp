// Reads one HTTP/1.1 request, however its octets come, into fixed room.
#pragma once

#include <http_parser.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/units/bytes.hpp"
#include "tools/lib/http/sha256.hpp"
#include "tools/lib/http/status.hpp"

namespace lockstep::http {

/// What a request may have at most.
struct RequestLimits {
  Bytes target_max{8000};  ///< RFC 9112 3: a request line of 8000 octets should be taken
  Bytes head_max{16384};   ///< the request line and all fields, 64 KiB at most
  Bytes body_max{65536};   ///< of a body, which is read and forgotten
  /// Of a body that is put to sink_path, 2^60 at most; 0: nothing can be put there.
  std::uint64_t sink_max = 0;
};

/// Whoever puts a body here is told its length and its hash.
inline constexpr std::string_view sink_path = "/sink";

/// Parses by http_parser. Holds no memory but its own, so that one can stand in every connection.
class RequestReader {
 public:
  enum class Progress : std::uint8_t { more, complete, failed };

  RequestReader() { begin(); }
  /// Forgets everything: the next octet is a request's first.
  void begin();
  /// Takes from the front of `octets` what belongs to the request, and says how much that is: all
  /// of it unless the request is complete, or has failed. Not called again before begin() then.
  Progress read(std::span<const std::byte> octets, const RequestLimits& limits, Bytes& used);

  bool begun() const { return head_octets_ != 0; }
  /// Why the request failed.
  Status failure() const { return failure_; }
  bool is_get() const { return parser_.method == HTTP_GET; }
  bool is_head() const { return begun() && parser_.method == HTTP_HEAD; }
  bool is_http_1_0() const { return parser_.http_major == 1 && parser_.http_minor == 0; }
  /// Whether the connection goes on after the answer.
  bool keeps_alive() const { return keeps_alive_; }
  /// A body is put to the sink, whose hash this is so far.
  bool is_upload() const { return is_upload_; }
  const Sha256& upload() const { return upload_; }
  /// The client waits for the word that it may send its body: true once.
  bool take_expectation();
  /// The target as it came; empty where it was longer than any path that can be known.
  std::string_view target() const;
  /// The value of a Range field that is to be heeded, or empty.
  std::string_view range() const;

 private:
  static constexpr std::uint32_t target_kept = 1024;
  static constexpr std::uint32_t name_kept = 8;
  static constexpr std::uint32_t range_kept = 64;
  enum class Field : std::uint8_t { other, host, range, if_range };

  static int on_url(http_parser* parser, const char* at, std::size_t length);
  static int on_field(http_parser* parser, const char* at, std::size_t length);
  static int on_value(http_parser* parser, const char* at, std::size_t length);
  static int on_headers_complete(http_parser* parser);
  static int on_body(http_parser* parser, const char* at, std::size_t length);
  static int on_message_complete(http_parser* parser);
  static const http_parser_settings& callbacks();
  int fail(Status status);
  int check_head();
  void begin_value();
  std::uint64_t content_max() const;
  Status status_of_error() const;

  http_parser parser_{};
  const RequestLimits* limits_ = nullptr;  // while read() runs
  Status failure_ = Status::ok;
  bool head_done_ = false;
  bool complete_ = false;
  bool keeps_alive_ = false;
  bool in_value_ = false;
  bool host_bad_ = false;
  bool has_if_range_ = false;
  bool has_expect_ = false;
  bool is_upload_ = false;
  bool is_awaited_ = false;  // the client waits for 100 Continue
  Field field_ = Field::other;
  std::uint8_t hosts_ = 0;  // at most 2: enough to know that there are too many
  std::uint8_t ranges_ = 0;
  std::uint8_t name_length_ = 0;  // of the current field, name_kept + 1 if it is longer
  std::uint8_t range_length_ = 0;
  std::uint32_t target_octets_ = 0;
  std::uint32_t head_octets_ = 0;
  std::uint64_t body_octets_ = 0;     // with what frames them
  std::uint64_t content_octets_ = 0;  // without
  Sha256 upload_;
  std::array<char, name_kept> name_{};
  std::array<char, range_kept> range_{};
  std::array<char, target_kept> target_{};
};

/// The path of a target in origin or absolute form (RFC 9112 3.2), its query cut off, its percent
/// signs decoded into `into`; empty if it is of another form, badly encoded or too long.
std::string_view path_of(std::string_view target, std::span<char> into);

}  // namespace lockstep::http
