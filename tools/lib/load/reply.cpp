// The callbacks of http_parser, and the comparison of a body with the pattern.
#include "tools/lib/load/reply.hpp"

#include <algorithm>
#include <cstring>

namespace lockstep::load {
namespace {

HttpReply& reply_of(http_parser* parser) { return *static_cast<HttpReply*>(parser->data); }

}  // namespace

Fault BodyCheck::take(std::span<const std::byte> octets) {
  if (octets.size() > expected_.length - seen_) {
    return Fault::wrong_length;
  }
  auto const& pattern = expected_.pattern;
  while (!octets.empty() && !pattern.empty()) {
    auto const at = static_cast<std::size_t>((expected_.from + seen_) % pattern.size());
    std::size_t const run = std::min(octets.size(), pattern.size() - at);
    if (std::memcmp(octets.data(), pattern.data() + at, run) != 0) {
      return Fault::wrong_body;
    }
    seen_ += run;
    octets = octets.subspan(run);
  }
  seen_ += octets.size();
  return Fault::none;
}

Fault BodyCheck::end() const {
  bool const known = expected_.length != Item::unknown;
  return known && seen_ != expected_.length ? Fault::wrong_length : Fault::none;
}

const http_parser_settings& HttpReply::callbacks() {
  static const http_parser_settings settings = [] {
    http_parser_settings made{};
    made.on_headers_complete = on_headers_complete;
    made.on_body = on_body;
    made.on_message_complete = on_message_complete;
    return made;
  }();
  return settings;
}

void HttpReply::begin(const Expected& expected) {
  http_parser_init(&parser_, HTTP_RESPONSE);
  body_.begin(expected);
  fault_ = Fault::none;
  head_done_ = complete_ = keeps_alive_ = false;
  head_octets_ = 0;
}

int HttpReply::fail(Fault fault) {
  fault_ = fault;
  return -1;
}

Progress HttpReply::read(std::span<const std::byte> octets, Bytes& used) {
  parser_.data = this;
  bool const in_head = !head_done_;
  auto const taken = static_cast<std::uint32_t>(http_parser_execute(
      &parser_, &callbacks(), reinterpret_cast<const char*>(octets.data()), octets.size()));
  used = Bytes{taken};
  if (in_head) {
    head_octets_ += head_done_ ? 0 : taken;
    if (head_octets_ > head_max) {
      fault_ = Fault::malformed;
      return Progress::failed;
    }
  }
  return after(taken == octets.size());
}

Progress HttpReply::after(bool whole) {
  if (complete_) {
    return Progress::complete;
  }
  if (HTTP_PARSER_ERRNO(&parser_) != HPE_OK || !whole) {
    fault_ = fault_ == Fault::none ? Fault::malformed : fault_;
    return Progress::failed;
  }
  return Progress::more;
}

Progress HttpReply::ended() {
  parser_.data = this;
  http_parser_execute(&parser_, &callbacks(), nullptr, 0);
  if (complete_) {
    return Progress::complete;
  }
  fault_ = fault_ == Fault::none ? Fault::closed_early : fault_;
  return Progress::failed;
}

int HttpReply::on_headers_complete(http_parser* parser) {
  HttpReply& self = reply_of(parser);
  if (parser->status_code / 100 == 1) {
    return 0;  // another response follows
  }
  self.head_done_ = true;
  self.keeps_alive_ = http_should_keep_alive(parser) != 0;
  return parser->status_code / 100 == 2 ? 0 : self.fail(Fault::status);
}

int HttpReply::on_body(http_parser* parser, const char* at, std::size_t length) {
  HttpReply& self = reply_of(parser);
  Fault const fault = self.body_.take(std::as_bytes(std::span(at, length)));
  return fault == Fault::none ? 0 : self.fail(fault);
}

int HttpReply::on_message_complete(http_parser* parser) {
  HttpReply& self = reply_of(parser);
  if (!self.head_done_) {
    return 0;  // it was a 1xx response
  }
  if (Fault const fault = self.body_.end(); fault != Fault::none) {
    return self.fail(fault);
  }
  self.complete_ = true;
  http_parser_pause(parser, 1);
  return 0;
}

Progress EchoReply::read(std::span<const std::byte> octets, Bytes& used) {
  std::size_t const mine = static_cast<std::size_t>(std::min<std::uint64_t>(octets.size(), left_));
  used = Bytes{static_cast<std::uint32_t>(mine)};
  if (Fault const fault = body_.take(octets.first(mine)); fault != Fault::none) {
    return fail(fault);
  }
  left_ -= mine;
  return left_ == 0 ? Progress::complete : Progress::more;
}

}  // namespace lockstep::load
