// The status codes that the server sends, with their reason phrases.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace lockstep::http {

enum class Status : std::uint16_t {
  ok = 200,
  partial_content = 206,
  moved_permanently = 301,
  not_modified = 304,
  bad_request = 400,
  not_found = 404,
  method_not_allowed = 405,
  request_timeout = 408,
  precondition_failed = 412,
  content_too_large = 413,
  uri_too_long = 414,
  range_not_satisfiable = 416,
  expectation_failed = 417,
  fields_too_large = 431,
  not_implemented = 501,
  version_not_supported = 505,
};

struct NamedStatus {
  Status status;
  std::string_view line;  ///< as on the status line; with a newline it is the body of an error
};

inline constexpr std::array<NamedStatus, 16> statuses{{
    {Status::ok, "200 OK\n"},
    {Status::partial_content, "206 Partial Content\n"},
    {Status::moved_permanently, "301 Moved Permanently\n"},
    {Status::not_modified, "304 Not Modified\n"},
    {Status::bad_request, "400 Bad Request\n"},
    {Status::not_found, "404 Not Found\n"},
    {Status::method_not_allowed, "405 Method Not Allowed\n"},
    {Status::request_timeout, "408 Request Timeout\n"},
    {Status::precondition_failed, "412 Precondition Failed\n"},
    {Status::content_too_large, "413 Content Too Large\n"},
    {Status::uri_too_long, "414 URI Too Long\n"},
    {Status::range_not_satisfiable, "416 Range Not Satisfiable\n"},
    {Status::expectation_failed, "417 Expectation Failed\n"},
    {Status::fields_too_large, "431 Request Header Fields Too Large\n"},
    {Status::not_implemented, "501 Not Implemented\n"},
    {Status::version_not_supported, "505 HTTP Version Not Supported\n"},
}};

/// The index of a status in `statuses`, for counters.
constexpr std::uint32_t index_of(Status status) {
  std::uint32_t index = 0;
  while (index + 1 < statuses.size() && statuses[index].status != status) {
    ++index;
  }
  return index;
}

}  // namespace lockstep::http
