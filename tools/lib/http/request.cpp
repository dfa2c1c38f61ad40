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

void RequestReader::Word::begin() {
  if (present) {
    add(",");
  }
  present = true;
}

void RequestReader::Word::add(std::string_view part) {
  for (char const letter : part) {
    bool const blank = letter == ' ' || letter == '\t';
    if (blank && length == 0) {
      continue;
    }
    if (length == word_kept) {
      too_long = too_long || !blank;
      continue;
    }
    text[length] = lower(letter);
    ++length;
  }
}

std::string_view RequestReader::Word::value() const {
  std::string_view out(text.data(), length);
  while (out.ends_with(' ') || out.ends_with('\t')) {
    out.remove_suffix(1);
  }
  return out;
}

void RequestReader::begin() {
  http_parser_init(&parser_, HTTP_REQUEST);
  failure_ = Status::ok;
  head_done_ = method_unknown_ = keeps_alive_ = in_value_ = host_bad_ = false;
  host_ended_ = false;
  is_upload_ = is_awaited_ = false;
  field_ = Field::other;
  hosts_ = ranges_ = name_length_ = range_length_ = 0;
  target_octets_ = head_octets_ = 0;
  body_octets_ = content_octets_ = 0;
  scan_.begin();
  beginning_.length = referer_.length = product_.length = 0;
  conditions_.clear();
  transfer_encoding_ = expect_ = Word{};
}

const http_parser_settings& RequestReader::callbacks() {
  static const http_parser_settings settings = [] {
    http_parser_settings made{};
    made.on_url = on_url;
    made.on_header_field = on_field;
    made.on_header_value = on_value;
    made.on_headers_complete = on_headers_complete;
    return made;
  }();
  return settings;
}

RequestReader::Progress RequestReader::refuse(Status status) {
  failure_ = failure_ == Status::ok ? status : failure_;
  return Progress::failed;
}

RequestReader::Progress RequestReader::read(std::span<const std::byte> octets,
                                            const RequestLimits& limits, Bytes& used) {
  used = Bytes{};
  limits_ = &limits;
  parser_.data = this;
  Progress progress = Progress::more;
  while (progress == Progress::more && !octets.empty()) {
    progress = head_done_ ? read_body(octets, used) : read_head(octets, used);
  }
  return progress;
}

// The parser sees at most the octets up to the limit, and none beyond the head, so that where a
// request is refused does not depend on how its octets arrive.
RequestReader::Progress RequestReader::read_head(std::span<const std::byte>& octets, Bytes& used) {
  std::uint64_t const room = limits_->head_max.count - head_octets_;
  //= rfc9110#5.4
  //# 9110:HTTP-4 fields larger than wished: 431
  if (room == 0) {
    return refuse(Status::fields_too_large);
  }
  std::size_t good = 0;
  auto const state = scan_.take(octets.first(std::min<std::uint64_t>(octets.size(), room)), good);
  auto const shown = octets.first(good);
  if (beginning_.length < beginning_.text.size()) {
    auto const begin = octets.first(std::min(octets.size(), beginning_.text.size()));
    beginning_.add({reinterpret_cast<const char*>(begin.data()), begin.size()});
  }
  head_octets_ += static_cast<std::uint32_t>(good);
  used += Bytes{static_cast<std::uint32_t>(good)};
  octets = octets.subspan(good);
  if (!shown.empty() && !method_unknown_) {
    std::size_t const taken = http_parser_execute(
        &parser_, &callbacks(), reinterpret_cast<const char*>(shown.data()), shown.size());
    method_unknown_ = HTTP_PARSER_ERRNO(&parser_) == HPE_INVALID_METHOD;
    if (!method_unknown_ && (HTTP_PARSER_ERRNO(&parser_) != HPE_OK || taken < shown.size())) {
      return refuse(status_of_error());
    }
  }
  if (method_unknown_) {
    // A malformed octet within the method is never taken: without this it would be read for ever.
    return state == HeadScan::State::malformed && scan_.in_method() ? refuse(Status::bad_request)
                                                                    : after_unknown_method();
  }
  if (state == HeadScan::State::malformed || (state == HeadScan::State::over) != head_done_) {
    return refuse(Status::bad_request);
  }
  if (!head_done_) {
    return Progress::more;
  }
  bool const bodiless = transfer_encoding_.present ? false : parser_.content_length == 0;
  return bodiless ? Progress::complete : Progress::more;
}

// RFC 9110 9.1: 501 to a method that is not known; 400 to what is no method.
RequestReader::Progress RequestReader::after_unknown_method() {
  if (scan_.in_method()) {
    return Progress::more;
  }
  return refuse(scan_.method_is_token() ? Status::not_implemented : Status::bad_request);
}

// Chunks may use as many octets again for their framing.
RequestReader::Progress RequestReader::read_body(std::span<const std::byte>& octets, Bytes& used) {
  std::uint64_t const frames = std::max<std::uint64_t>(content_max(), limits_->head_max.count);
  std::uint64_t const room = content_max() + frames - body_octets_;
  if (room == 0) {
    return refuse(Status::content_too_large);
  }
  std::size_t taken = 0;
  std::span<const std::byte> content;
  auto const step =
      framing_.take(octets.first(std::min<std::uint64_t>(octets.size(), room)), taken, content);
  body_octets_ += taken;
  used += Bytes{static_cast<std::uint32_t>(taken)};
  octets = octets.subspan(taken);
  if (content.size() > content_max() - content_octets_) {
    return refuse(Status::content_too_large);
  }
  content_octets_ += content.size();
  if (is_upload_) {
    upload_.add(content);
  }
  if (step == BodyFraming::Step::malformed) {
    return refuse(Status::bad_request);
  }
  return step == BodyFraming::Step::complete ? Progress::complete : Progress::more;
}

//= rfc9112#6.3
//# 9112:MSG-15 an invalid or repeated Content-Length: 400
Status RequestReader::status_of_error() const {
  return HTTP_PARSER_ERRNO(&parser_) == HPE_HEADER_OVERFLOW ? Status::fields_too_large
                                                            : Status::bad_request;
}

int RequestReader::fail(Status status) {
  failure_ = status;
  return -1;
}

bool RequestReader::reject(Status status) {
  failure_ = status;
  return false;
}

int RequestReader::on_url(http_parser* parser, const char* at, std::size_t length) {
  RequestReader& self = reader_of(parser);
  //= rfc9112#3
  //# 9112:MSG-4 a target longer than wished: 414
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
  //= rfc9112#5.1
  //# 9112:MSG-8 white space before the colon: 400
  if (!std::all_of(at, at + length, is_token)) {
    return self.fail(Status::bad_request);
  }
  for (std::size_t i = 0; i < length && self.name_length_ <= name_kept; ++i) {
    if (self.name_length_ < name_kept) {
      self.name_[self.name_length_] = lower(at[i]);
    }
    ++self.name_length_;
  }
  return 0;
}

bool RequestReader::begin_value() {
  in_value_ = true;
  field_ = Field::other;
  if (name_length_ > name_kept) {
    return true;
  }
  std::string_view const name(name_.data(), name_length_);
  if (name == "host") {
    field_ = Field::host;
    hosts_ = static_cast<std::uint8_t>(std::min(2, hosts_ + 1));
  } else if (name == "range") {
    field_ = Field::range;
    ranges_ = static_cast<std::uint8_t>(std::min(2, ranges_ + 1));
  } else if (name == "expect") {
    field_ = Field::expect;
    expect_.begin();
  } else if (name == "user-agent") {
    field_ = Field::product;
  } else if (name == "referer") {
    field_ = Field::referer;
  } else if (name == "transfer-encoding") {
    field_ = Field::transfer_encoding;
    transfer_encoding_.begin();
  } else if (name.starts_with("if-")) {
    return begin_condition(name);
  }
  return true;
}

bool RequestReader::begin_condition(std::string_view name) {
  struct NamedCondition {
    std::string_view name;
    ConditionKind kind;
  };
  static constexpr std::array<NamedCondition, 5> known{
      {{"if-match", ConditionKind::if_match},
       {"if-none-match", ConditionKind::if_none_match},
       {"if-modified-since", ConditionKind::if_modified_since},
       {"if-unmodified-since", ConditionKind::if_unmodified_since},
       {"if-range", ConditionKind::if_range}}};
  for (const NamedCondition& each : known) {
    if (each.name == name) {
      field_ = Field::condition;
      return conditions_.begin(each.kind);
    }
  }
  return true;
}

void RequestReader::add_host(std::string_view part) {
  for (char const letter : part) {
    bool const blank = letter == ' ' || letter == '\t';
    host_bad_ = host_bad_ || (!blank && (host_ended_ || !in_host(letter)));
    host_ended_ = host_ended_ || blank;
  }
}

int RequestReader::on_value(http_parser* parser, const char* at, std::size_t length) {
  RequestReader& self = reader_of(parser);
  bool room = self.in_value_ || self.begin_value();
  std::string_view const part(at, length);
  switch (self.field_) {
    case Field::host:
      self.add_host(part);
      break;
    case Field::range: {
      std::size_t const kept = std::min<std::size_t>(length, range_kept - self.range_length_);
      std::copy_n(at, kept, self.range_.begin() + self.range_length_);
      self.range_length_ = static_cast<std::uint8_t>(self.range_length_ + kept);
      // A value too long for the buffer is not a single range.
      self.ranges_ = kept < length ? std::uint8_t{2} : self.ranges_;
      break;
    }
    case Field::condition:
      room = room && self.conditions_.add(part);
      break;
    case Field::expect:
      self.expect_.add(part);
      break;
    case Field::transfer_encoding:
      self.transfer_encoding_.add(part);
      break;
    case Field::referer:
      self.referer_.add(part);
      break;
    case Field::product:
      self.product_.add(part);
      break;
    case Field::other:
      break;
  }
  return room ? 0 : self.fail(Status::fields_too_large);
}

int RequestReader::check_head() {
  head_done_ = true;
  if (parser_.http_major != 1) {
    return fail(Status::version_not_supported);
  }
  //= rfc9112#3.2
  //# 9112:MSG-5 from HTTP/1.1 on, exactly one valid Host field
  bool const hosts_wrong = hosts_ > 1 || (hosts_ == 0 && parser_.http_minor > 0);
  if (hosts_wrong || host_bad_) {
    return fail(Status::bad_request);
  }
  if (!check_target()) {
    return -1;
  }
  bool const puts = parser_.method == HTTP_PUT || parser_.method == HTTP_POST;
  std::array<char, sink_path.size()> decoded;
  is_upload_ = puts && limits_->sink_max != 0 && path_of(target(), decoded) == sink_path;
  if (is_upload_) {
    upload_ = Sha256{};
  }
  if (!check_framing() || !check_expectation()) {
    return -1;
  }
  keeps_alive_ = http_should_keep_alive(&parser_) != 0;
  //= rfc9110#7.8
  //# 9110:HTTP-11 the protocol is never switched: the octets that follow are the next request
  parser_.upgrade = 0;
  return 1;  // the parser does not see the body
}

// A target in absolute form must be of this scheme, which has no TLS, and name a host.
bool RequestReader::check_target() {
  std::string_view const whole = target();
  std::size_t const mark = whole.find("://");
  if (whole.starts_with('/') || mark == std::string_view::npos) {
    return true;
  }
  std::string_view const scheme = whole.substr(0, mark);
  std::string_view const after = whole.substr(mark + 3);
  //= rfc9110#7.4
  //# 9110:HTTP-34 an https resource is not served without TLS
  bool const http = std::ranges::equal(scheme, std::string_view("http"), {}, lower);
  //= rfc9110#4.2.1
  //# 9110:HTTP-35 an http URI without a host is refused
  bool const host = !after.empty() && after.find_first_of("/?#:") != 0;
  return (http && host) || reject(Status::bad_request);
}

bool RequestReader::check_framing() {
  bool const sized = (parser_.flags & F_CONTENTLENGTH) != 0;
  if (!transfer_encoding_.present) {
    parser_.content_length = sized ? parser_.content_length : 0;
    //= rfc9110#8.6
    //# 9110:HTTP-15 a length that overflows is refused, by the parser as well
    framing_.begin_sized(parser_.content_length);
    return parser_.content_length <= content_max() || reject(Status::content_too_large);
  }
  //= rfc9112#6.3
  //# 9112:MSG-16 chunked is not the last coding: 400
  //= rfc9112#6.1
  //# 9112:MSG-14 a coding in HTTP/1.0, or beside Content-Length, is faulty
  bool const chunked_last = (parser_.flags & F_CHUNKED) != 0;
  if (!chunked_last || parser_.http_minor == 0 || sized) {
    return reject(Status::bad_request);
  }
  // RFC 9112 6.1: 501 to a coding that is not understood.
  if (!transfer_encoding_.is("chunked")) {
    return reject(Status::not_implemented);
  }
  framing_.begin_chunked();
  return true;
}

// RFC 9110 10.1.1: a client that expects 100 Continue waits before it sends a body.
bool RequestReader::check_expectation() {
  //= rfc9110#10.1.1
  //# 9110:HTTP-12 ignored in HTTP/1.0
  if (!expect_.present || parser_.http_minor == 0) {
    return true;
  }
  if (!expect_.is("100-continue")) {
    return reject(Status::expectation_failed);
  }
  bool const with_body = transfer_encoding_.present || parser_.content_length != 0;
  is_awaited_ = with_body && is_upload_;
  if (with_body && !is_upload_) {  // nothing here accepts one
    bool const known = parser_.method == HTTP_GET || parser_.method == HTTP_HEAD;
    return reject(known ? Status::bad_request : Status::method_not_allowed);
  }
  return true;
}

int RequestReader::on_headers_complete(http_parser* parser) {
  return reader_of(parser).check_head();
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

std::string_view RequestReader::method() const {
  return head_done_ ? http_method_str(static_cast<http_method>(parser_.method)) : "";
}

std::string_view RequestReader::range() const {
  return ranges_ == 1 ? std::string_view(range_.data(), range_length_) : std::string_view{};
}

//= rfc9112#3.2.2
//# 9112:MSG-6 the absolute form is accepted; there is one site, whatever the host
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
