// The callbacks of http_parser, and the rules of RFC 9110 and 9112 that it does not check.
#include "tools/lib/http/request.hpp"

#include <algorithm>

namespace lockstep::http {
namespace {

constexpr char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + ('a' - 'A')) : letter;
}

/// Whether a character may appear in a host and port (RFC 9110 7.2); other requests are refused.
constexpr bool in_host(char letter) {
  return letter > ' ' && letter != '/' && letter != '?' && letter != '#' && letter != '@' &&
         letter != ',' && letter != '\x7f';
}

RequestReader& reader_of(http_parser* parser) { return *static_cast<RequestReader*>(parser->data); }

int hex_of(char letter) {
  char const small = lower(letter);
  if (small >= '0' && small <= '9') {
    return small - '0';
  }
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

}  // namespace

void RequestReader::begin() {
  http_parser_init(&parser_, HTTP_REQUEST);
  failure_ = Status::ok;
  head_done_ = complete_ = keeps_alive_ = in_value_ = host_bad_ = false;
  has_if_range_ = has_expect_ = is_upload_ = is_awaited_ = false;
  field_ = Field::other;
  hosts_ = ranges_ = name_length_ = range_length_ = 0;
  target_octets_ = head_octets_ = 0;
  body_octets_ = content_octets_ = 0;
}

const http_parser_settings& RequestReader::callbacks() {
  static const http_parser_settings settings = [] {
    http_parser_settings made{};
    made.on_url = on_url;
    made.on_header_field = on_field;
    made.on_header_value = on_value;
    made.on_headers_complete = on_headers_complete;
    made.on_body = on_body;
    made.on_message_complete = on_message_complete;
    return made;
  }();
  return settings;
}

RequestReader::Progress RequestReader::read(std::span<const std::byte> octets,
                                            const RequestLimits& limits, Bytes& used) {
  used = Bytes{};
  limits_ = &limits;
  parser_.data = this;
  while (!octets.empty()) {
    // The parser sees at most the octets up to the limit, so that the place where a head exceeds it
    // does not depend on how the octets arrive. A body may use as many octets again for chunk
    // framing.
    std::uint64_t const so_far = head_done_ ? body_octets_ : head_octets_;
    std::uint64_t const frames = std::max<std::uint64_t>(content_max(), limits.head_max.count);
    std::uint64_t const most = head_done_ ? content_max() + frames : limits.head_max.count;
    std::uint64_t const room = most - so_far;
    if (room == 0) {
      fail(head_done_ ? Status::content_too_large : Status::fields_too_large);
      return Progress::failed;
    }
    auto const shown = octets.first(std::min<std::uint64_t>(octets.size(), room));
    bool const in_head = !head_done_;
    auto const taken = static_cast<std::uint32_t>(http_parser_execute(
        &parser_, &callbacks(), reinterpret_cast<const char*>(shown.data()), shown.size()));
    if (in_head) {
      head_octets_ += taken;
    } else {
      body_octets_ += taken;
    }
    used += Bytes{taken};
    if (complete_) {
      return Progress::complete;
    }
    if (HTTP_PARSER_ERRNO(&parser_) != HPE_OK || taken < shown.size()) {
      failure_ = failure_ == Status::ok ? status_of_error() : failure_;
      return Progress::failed;
    }
    octets = octets.subspan(taken);
  }
  return Progress::more;
}

Status RequestReader::status_of_error() const {
  return HTTP_PARSER_ERRNO(&parser_) == HPE_HEADER_OVERFLOW ? Status::fields_too_large
                                                            : Status::bad_request;
}

int RequestReader::fail(Status status) {
  failure_ = status;
  return -1;
}

int RequestReader::on_url(http_parser* parser, const char* at, std::size_t length) {
  RequestReader& self = reader_of(parser);
  if (length > self.limits_->target_max.count - self.target_octets_) {
    return self.fail(Status::uri_too_long);
  }
  std::size_t const kept = std::min<std::size_t>(self.target_octets_, target_kept);
  std::copy_n(at, std::min<std::size_t>(length, target_kept - kept), self.target_.begin() + kept);
  self.target_octets_ += static_cast<std::uint32_t>(length);
  return 0;
}

int RequestReader::on_field(http_parser* parser, const char* at, std::size_t length) {
  RequestReader& self = reader_of(parser);
  if (self.in_value_) {
    self.in_value_ = false;
    self.name_length_ = 0;
  }
  for (std::size_t i = 0; i < length && self.name_length_ <= name_kept; ++i) {
    if (self.name_length_ < name_kept) {
      self.name_[self.name_length_] = lower(at[i]);
    }
    ++self.name_length_;
  }
  return 0;
}

void RequestReader::begin_value() {
  in_value_ = true;
  field_ = Field::other;
  if (head_done_ || name_length_ > name_kept) {
    return;  // trailer fields after a chunked body are ignored
  }
  std::string_view const name(name_.data(), name_length_);
  if (name == "host") {
    field_ = Field::host;
    hosts_ = static_cast<std::uint8_t>(std::min(2, hosts_ + 1));
  } else if (name == "range") {
    field_ = Field::range;
    ranges_ = static_cast<std::uint8_t>(std::min(2, ranges_ + 1));
  } else if (name == "if-range") {
    has_if_range_ = true;
  } else if (name == "expect") {
    has_expect_ = true;
  }
}

int RequestReader::on_value(http_parser* parser, const char* at, std::size_t length) {
  RequestReader& self = reader_of(parser);
  if (!self.in_value_) {
    self.begin_value();
  }
  if (self.field_ == Field::host) {
    self.host_bad_ = self.host_bad_ || !std::all_of(at, at + length, in_host);
  } else if (self.field_ == Field::range) {
    std::size_t const kept = std::min<std::size_t>(length, range_kept - self.range_length_);
    std::copy_n(at, kept, self.range_.begin() + self.range_length_);
    self.range_length_ = static_cast<std::uint8_t>(self.range_length_ + kept);
    // A value too long for the buffer is not a single range.
    self.ranges_ = kept < length ? std::uint8_t{2} : self.ranges_;
  }
  return 0;
}

int RequestReader::check_head() {
  head_done_ = true;
  if (parser_.http_major != 1) {
    return fail(Status::version_not_supported);
  }
  // RFC 9112 3.2: from HTTP/1.1 on, exactly one Host field.
  bool const hosts_wrong = hosts_ > 1 || (hosts_ == 0 && parser_.http_minor > 0);
  if (hosts_wrong || host_bad_) {
    return fail(Status::bad_request);
  }
  bool const puts = parser_.method == HTTP_PUT || parser_.method == HTTP_POST;
  std::array<char, sink_path.size()> decoded;
  is_upload_ = puts && limits_->sink_max != 0 && path_of(target(), decoded) == sink_path;
  if (is_upload_) {
    upload_ = Sha256{};
  }
  bool const sized = (parser_.flags & F_CONTENTLENGTH) != 0;
  if (sized && parser_.content_length > content_max()) {
    return fail(Status::content_too_large);
  }
  bool const with_body = (sized && parser_.content_length != 0) || (parser_.flags & F_CHUNKED) != 0;
  if (has_expect_ && with_body && parser_.http_minor > 0 && is_upload_) {
    is_awaited_ = true;
  } else if (has_expect_ && with_body && parser_.http_minor > 0) {
    // The client waits for 100 Continue before it sends a body, and nothing here accepts one.
    bool const known = parser_.method == HTTP_GET || parser_.method == HTTP_HEAD;
    return fail(known ? Status::bad_request : Status::method_not_allowed);
  }
  keeps_alive_ = http_should_keep_alive(&parser_) != 0;
  // The protocol is never switched: the octets that follow are the next request.
  parser_.upgrade = 0;
  return 0;
}

int RequestReader::on_headers_complete(http_parser* parser) {
  return reader_of(parser).check_head();
}

int RequestReader::on_body(http_parser* parser, const char* at, std::size_t length) {
  RequestReader& self = reader_of(parser);
  if (length > self.content_max() - self.content_octets_) {
    return self.fail(Status::content_too_large);
  }
  self.content_octets_ += length;
  if (self.is_upload_) {
    self.upload_.add(std::as_bytes(std::span(at, length)));
  }
  return 0;
}

int RequestReader::on_message_complete(http_parser* parser) {
  reader_of(parser).complete_ = true;
  http_parser_pause(parser, 1);
  return 0;
}

std::uint64_t RequestReader::content_max() const {
  return is_upload_ ? limits_->sink_max : limits_->body_max.count;
}

bool RequestReader::take_expectation() {
  bool const awaited = is_awaited_ && content_octets_ == 0;
  is_awaited_ = false;
  return awaited;
}

std::string_view RequestReader::target() const {
  std::string_view const kept(target_.data(), std::min(target_octets_, target_kept));
  bool const whole = target_octets_ <= target_kept || kept.find('?') != std::string_view::npos;
  return whole ? kept : std::string_view{};
}

std::string_view RequestReader::range() const {
  // RFC 9110 13.1.5: If-Range never matches, because this server sends no validators.
  bool const heeded = ranges_ == 1 && !has_if_range_;
  return heeded ? std::string_view(range_.data(), range_length_) : std::string_view{};
}

std::string_view path_of(std::string_view target, std::span<char> into) {
  if (std::size_t const scheme = target.find("://");
      !target.starts_with('/') && scheme != std::string_view::npos) {
    std::size_t const path = target.find('/', scheme + 3);
    target = path == std::string_view::npos ? std::string_view("/") : target.substr(path);
  }
  target = target.substr(0, target.find_first_of("?#"));
  if (!target.starts_with('/')) {
    return {};
  }
  std::size_t length = 0;
  for (std::size_t i = 0; i < target.size(); ++i) {
    char letter = target[i];
    if (letter == '%') {
      int const high = i + 2 < target.size() ? hex_of(target[i + 1]) : -1;
      int const low = i + 2 < target.size() ? hex_of(target[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return {};
      }
      letter = static_cast<char>(high << 4 | low);
      i += 2;
    }
    if (length == into.size()) {
      return {};
    }
    into[length] = letter;
    ++length;
  }
  return {into.data(), length};
}

}  // namespace lockstep::http
