// Parses the response line by line, with the data between the lines.
#include "tools/lib/load/cache_reply.hpp"

#include <algorithm>
#include <charconv>

namespace lockstep::load {

void CacheReply::begin(const Expected& expected) {
  expected_ = expected;
  body_.begin(expected);
  part_ = Part::first_line;
  is_miss_ = false;
  fault_ = Fault::none;
  line_length_ = 0;
}

Progress CacheReply::read(std::span<const std::byte> octets, Bytes& used) {
  used = Bytes{};
  while (used.count < octets.size()) {
    auto const rest = octets.subspan(used.count);
    if (part_ == Part::data) {
      auto const run = static_cast<std::uint32_t>(std::min<std::uint64_t>(rest.size(), left_));
      used += Bytes{run};
      left_ -= run;
      if (Fault const fault = body_.take(rest.first(run)); fault != Fault::none) {
        return fail(fault);
      }
      part_ = left_ == 0 ? Part::data_end : Part::data;
      continue;
    }
    used += Bytes{1};
    char const letter = static_cast<char>(rest.front());
    if (letter != '\n') {
      if (line_length_ == line_.size()) {
        return fail(Fault::malformed);
      }
      line_[line_length_] = letter;
      ++line_length_;
      continue;
    }
    std::string_view line(line_.data(), line_length_);
    line_length_ = 0;
    if (!line.ends_with('\r')) {
      return fail(Fault::malformed);
    }
    line.remove_suffix(1);
    if (Progress const progress = take_line(line); progress != Progress::more) {
      return progress;
    }
  }
  return Progress::more;
}

Progress CacheReply::take_line(std::string_view line) {
  if (part_ == Part::data_end) {
    part_ = Part::last_line;
    return line.empty() ? Progress::more : fail(Fault::malformed);
  }
  if (part_ == Part::last_line) {
    return line == "END" ? Progress::complete : fail(Fault::malformed);
  }
  if (line.find("ERROR") != std::string_view::npos || line.starts_with("NOT_STORED")) {
    return fail(Fault::status);
  }
  if (expected_.is_stored) {
    return line == "STORED" ? Progress::complete : fail(Fault::malformed);
  }
  is_miss_ = line == "END";
  if (is_miss_) {
    return Progress::complete;
  }
  // The line is: VALUE key flags octets.
  std::size_t const last = line.rfind(' ');
  std::string_view const number = line.substr(std::min(last, line.size() - 1) + 1);
  auto const [end, error] = std::from_chars(number.data(), number.data() + number.size(), left_);
  if (!line.starts_with("VALUE ") || error != std::errc{} || end != number.data() + number.size()) {
    return fail(Fault::malformed);
  }
  if (left_ != expected_.length) {
    return fail(Fault::wrong_length);
  }
  part_ = left_ == 0 ? Part::data_end : Part::data;
  return Progress::more;
}

}  // namespace lockstep::load
