// Reads one HTTP/1.1 request, however its octets are split, into fixed buffers.
#pragma once

#include <http_parser.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/units/bytes.hpp"
#include "tools/lib/http/conditions.hpp"
#include "tools/lib/http/framing.hpp"
#include "tools/lib/http/sha256.hpp"
#include "tools/lib/http/status.hpp"

namespace lockstep::http {

/// Limits of a request.
struct RequestLimits {
  Bytes target_max{8000};  ///< RFC 9112 3: a request line of 8000 octets should be supported
  Bytes head_max{16384};   ///< the request line and all fields; at most 64 KiB
  Bytes body_max{65536};   ///< of a body that is read and discarded
  /// Of a body sent to sink_path, at most 2^60; 0: the sink is off.
  std::uint64_t sink_max = 0;
};

/// The response to a PUT or POST here holds the body's length and hash.
inline constexpr std::string_view sink_path = "/sink";

/// http_parser takes the head apart into method, target and fields; HeadScan refuses what it lets
/// pass, and BodyFraming reads the body. Uses no memory outside the object, so that every
/// connection can have one.
class RequestReader {
 public:
  enum class Progress : std::uint8_t { more, complete, failed };

  RequestReader() { begin(); }
  /// Resets: the next octet is the first of a request.
  void begin();
  /// Consumes the octets at the front of `octets` that belong to the request and sets `used` to
  /// their number: all of them unless the request is complete or has failed. After that, begin()
  /// must be called first.
  Progress read(std::span<const std::byte> octets, const RequestLimits& limits, Bytes& used);

  bool begun() const { return head_octets_ != 0; }
  /// The status with which the request failed.
  Status failure() const { return failure_; }
  bool is_get() const { return parser_.method == HTTP_GET; }
  bool is_head() const { return begun() && parser_.method == HTTP_HEAD; }
  bool is_http_1_0() const { return parser_.http_major == 1 && parser_.http_minor == 0; }
  /// Whether the connection stays open after the response.
  bool keeps_alive() const { return keeps_alive_; }
  /// Whether the body goes to the sink; upload() is its hash so far.
  bool is_upload() const { return is_upload_; }
  const Sha256& upload() const { return upload_; }
  /// Whether the client waits for 100 Continue; true only once.
  bool take_expectation();
  /// The request target as received; empty if it was longer than any known path.
  std::string_view target() const;
  /// The value of the Range field, if there is exactly one; else empty.
  std::string_view range() const;
  const ConditionFields& conditions() const { return conditions_; }
  /// For a log: the begin of the request as it arrived, "GET" and the like once the head is known
  /// (else empty), and the begin of Referer and of the name of the client.
  std::string_view beginning() const { return beginning_.value(); }
  std::string_view method() const;
  std::string_view referer() const { return referer_.value(); }
  std::string_view product() const { return product_.value(); }

 private:
  static constexpr std::uint32_t target_kept = 1024;
  static constexpr std::uint32_t name_kept = 20;
  static constexpr std::uint32_t range_kept = 64;
  static constexpr std::uint32_t word_kept = 24;
  enum class Field : std::uint8_t {
    other,
    host,
    range,
    condition,
    transfer_encoding,
    expect,
    referer,
    product
  };

  /// As many octets of a text as there is room for.
  template <std::uint8_t room>
  struct Kept {
    std::array<char, room> text{};
    std::uint8_t length = 0;
    void add(std::string_view part) {
      std::size_t const taken = std::min<std::size_t>(part.size(), room - length);
      std::copy_n(part.data(), taken, text.begin() + length);
      length = static_cast<std::uint8_t>(length + taken);
    }
    std::string_view value() const { return {text.data(), length}; }
  };

  /// The value of a field of which only one word is known: in small letters, without blanks at its
  /// ends; several lines are joined by commas.
  struct Word {
    std::array<char, word_kept> text{};
    std::uint8_t length = 0;
    bool present = false;
    bool too_long = false;
    void begin();
    void add(std::string_view part);
    std::string_view value() const;
    bool is(std::string_view known) const { return !too_long && value() == known; }
  };

  static int on_url(http_parser* parser, const char* at, std::size_t length);
  static int on_field(http_parser* parser, const char* at, std::size_t length);
  static int on_value(http_parser* parser, const char* at, std::size_t length);
  static int on_headers_complete(http_parser* parser);
  static const http_parser_settings& callbacks();
  int fail(Status status);
  bool reject(Status status);
  Progress read_head(std::span<const std::byte>& octets, Bytes& used);
  Progress read_body(std::span<const std::byte>& octets, Bytes& used);
  Progress refuse(Status status);
  Progress after_unknown_method();
  int check_head();
  void add_host(std::string_view part);
  bool check_target();
  bool check_framing();
  bool check_expectation();
  bool begin_value();
  bool begin_condition(std::string_view name);
  std::uint64_t content_max() const;
  Status status_of_error() const;

  http_parser parser_{};
  const RequestLimits* limits_ = nullptr;  // while read() runs
  Status failure_ = Status::ok;
  bool head_done_ = false;
  bool method_unknown_ = false;
  bool keeps_alive_ = false;
  bool in_value_ = false;
  bool host_bad_ = false;
  bool host_ended_ = false;  // by a blank, after which only blanks may follow
  bool is_upload_ = false;
  bool is_awaited_ = false;  // the client waits for 100 Continue
  Field field_ = Field::other;
  std::uint8_t hosts_ = 0;  // counts to 2 only: more than one is an error
  std::uint8_t ranges_ = 0;
  std::uint8_t name_length_ = 0;  // of the current field; name_kept + 1 if it is longer
  std::uint8_t range_length_ = 0;
  std::uint32_t target_octets_ = 0;
  std::uint32_t head_octets_ = 0;
  std::uint64_t body_octets_ = 0;     // including chunk framing
  std::uint64_t content_octets_ = 0;  // without chunk framing
  HeadScan scan_;
  BodyFraming framing_;
  ConditionFields conditions_;
  Kept<96> beginning_;
  Kept<160> referer_;
  Kept<160> product_;
  Word transfer_encoding_;
  Word expect_;
  Sha256 upload_;
  std::array<char, name_kept> name_{};
  std::array<char, range_kept> range_{};
  std::array<char, target_kept> target_{};
};

/// The path of a target in origin or absolute form (RFC 9112 3.2), without its query and
/// percent-decoded into `into`. Empty if the form is another, the encoding is invalid, or the path
/// is too long.
std::string_view path_of(std::string_view target, std::span<char> into);

}  // namespace lockstep::http
