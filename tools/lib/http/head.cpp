// Writes a response's head without allocation.
#include "tools/lib/http/head.hpp"

#include <algorithm>
#include <charconv>

#include "core/units/check.hpp"

namespace lockstep::http {
namespace {

class Text {
 public:
  explicit Text(std::span<char> room) : room_(room) {}

  Text& add(std::string_view text) {
    CHECK(text.size() <= room_.size() - used_);
    std::copy(text.begin(), text.end(), room_.begin() + static_cast<std::ptrdiff_t>(used_));
    used_ += text.size();
    return *this;
  }
  Text& add(std::uint64_t number) {
    std::array<char, 20> digits;
    auto const end = std::to_chars(digits.begin(), digits.end(), number).ptr;
    return add(std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
  }
  std::uint32_t used() const { return static_cast<std::uint32_t>(used_); }

 private:
  std::span<char> room_;
  std::size_t used_ = 0;
};

// The body written after the head; empty if the body is lent, or if there is none.
std::string_view own_body(const ResponseHead& head) {
  bool const found = head.status == Status::ok || head.status == Status::partial_content ||
                     head.status == Status::not_modified;
  return !found ? statuses[index_of(head.status)].line : head.text;
}

void add_field(Text& text, std::string_view name, std::string_view value) {
  if (!value.empty()) {
    text.add(name).add(": ").add(value).add("\r\n");
  }
}

//= rfc9110#15.4.5
//# 9110:HTTP-32 a 304 has the ETag and the Date of the 200
void add_validators(Text& text, const ResponseHead& head) {
  add_field(text, "ETag", head.etag);
  add_field(text, "Last-Modified", head.modified);
}

void add_body_fields(Text& text, const ResponseHead& head) {
  if (head.status == Status::not_modified) {
    add_validators(text, head);
    return;
  }
  if (std::string_view const own = own_body(head); !own.empty()) {
    text.add("Content-Type: text/plain\r\nContent-Length: ").add(own.size()).add("\r\n");
    if (head.status == Status::range_not_satisfiable) {
      text.add("Content-Range: bytes */").add(head.length).add("\r\n");
    }
    add_field(text, "Location", head.location);
    //= rfc9110#15.5.6
    //# 9110:HTTP-33 a 405 names the methods of the resource
    if (head.status == Status::method_not_allowed) {
      text.add(head.to_sink ? "Allow: PUT, POST\r\n" : "Allow: GET, HEAD\r\n");
    }
    return;
  }
  //= rfc9110#15.3.7
  //# 9110:HTTP-26 a 206 has the Date and validators of the 200
  add_validators(text, head);
  //= rfc9110#8.6
  //# 9110:HTTP-28 Content-Length is the same for HEAD as for GET
  bool const part = head.status == Status::partial_content;
  text.add("Accept-Ranges: bytes\r\nContent-Type: ").add(head.type).add("\r\nContent-Length: ");
  text.add(part ? head.range.end - head.range.begin : head.length).add("\r\n");
  //= rfc9110#15.3.7.1
  //# 9110:HTTP-25 a 206 says which part it is
  if (part) {
    text.add("Content-Range: bytes ").add(head.range.begin).add("-").add(head.range.end - 1);
    text.add("/").add(head.length).add("\r\n");
  }
}

}  // namespace

std::uint32_t write_head(const ResponseHead& head, std::span<char, head_bytes_max> into) {
  Text text(into);
  std::string_view const line = statuses[index_of(head.status)].line;
  //= rfc9112#4
  //# 9112:MSG-7 a space follows the status code
  //= rfc9112#6.1
  //# 9112:MSG-11 Transfer-Encoding is never sent
  text.add("HTTP/1.1 ").add(line.substr(0, line.size() - 1)).add("\r\nServer: lockstep\r\n");
  //= rfc9110#6.6.1
  //# 9110:HTTP-9 Date in each response, if there is a clock
  add_field(text, "Date", head.date);
  add_body_fields(text, head);
  if (!head.keep_alive) {
    text.add("Connection: close\r\n");
  } else if (head.to_http_1_0) {
    text.add("Connection: keep-alive\r\n");
  }
  text.add("\r\n");
  //= rfc9110#9.3.2
  //# 9110:HTTP-3 no content after the head of an answer to HEAD
  //= rfc9110#15.4.5
  //# 9110:HTTP-31 nor after a 304
  if (!head.without_body) {
    text.add(own_body(head));
  }
  return text.used();
}

}  // namespace lockstep::http
