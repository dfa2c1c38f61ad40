// Draws items by weight; writes the head of a request into a fixed buffer.
#include "tools/lib/load/message.hpp"

#include <algorithm>
#include <charconv>

#include "core/units/check.hpp"

namespace lockstep::load {
namespace {

/// Appends to a fixed buffer that is known to be large enough.
class Line {
 public:
  explicit Line(std::span<char> into) : into_(into) {}
  void add(std::string_view text) {
    CHECK(text.size() <= into_.size() - length_);
    std::copy(text.begin(), text.end(), into_.begin() + static_cast<std::ptrdiff_t>(length_));
    length_ += text.size();
  }
  void add(std::uint64_t number) {
    std::array<char, 20> digits;
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    add({digits.data(), static_cast<std::size_t>(end - digits.data())});
  }
  std::string_view text() const { return {into_.data(), length_}; }

 private:
  std::span<char> into_;
  std::size_t length_ = 0;
};

}  // namespace

Composer::Composer(const LoadPlan& plan, const http::Site& site)
    : protocol_(plan.protocol),
      close_mode_(plan.close_mode),
      message_(plan.message),
      upload_(plan.upload),
      catalogue_(plan.catalogue),
      pattern_(site.pattern()),
      random_(Random(plan.seed).fork("requests")),
      updates_percent_(plan.updates_percent) {
  CHECK(catalogue_.weights.empty() || catalogue_.weights.size() == catalogue_.items.size());
  for (std::uint32_t const weight : catalogue_.weights) {
    weight_ += weight;
    cumulative_.push_back(weight_);
  }
  CHECK(protocol_ == Protocol::http || message_.count < pattern_.size());
  if (protocol_ == Protocol::memcached) {
    to_preload_ = static_cast<std::uint32_t>(catalogue_.items.size());
  }
}

Asked Composer::draw(Instant wanted, bool is_last) {
  Asked one;
  one.wanted = wanted;
  one.is_last = is_last;
  if (to_preload_ != 0) {
    --to_preload_;
    one.item = to_preload_;
    one.is_update = true;
    return one;
  }
  one.is_update = protocol_ == Protocol::memcached && random_.below(100) < updates_percent_;
  if (protocol_ == Protocol::echo) {
    one.from = static_cast<std::uint32_t>(random_.below(pattern_.size() - message_.count));
  } else if (cumulative_.empty()) {
    one.item = static_cast<std::uint32_t>(random_.below(catalogue_.items.size()));
  } else {
    std::uint64_t const drawn = random_.below(weight_);
    auto const found = std::upper_bound(cumulative_.begin(), cumulative_.end(), drawn);
    one.item = static_cast<std::uint32_t>(found - cumulative_.begin());
  }
  return one;
}

std::uint32_t Composer::value_from(std::uint32_t item) const {
  return static_cast<std::uint32_t>(std::uint64_t{item} * 977 % (pattern_.size() - message_.count));
}

Message Composer::compose(const Asked& asked, const Target& target) {
  Message out;
  if (protocol_ == Protocol::echo) {
    out.body_from = asked.from;
    out.body_length = message_.count;
    return out;
  }
  Line line(text_);
  if (protocol_ == Protocol::memcached) {
    line.add(asked.is_update ? "set " : "get ");
    line.add(catalogue_.items[asked.item].name);
    if (asked.is_update) {
      line.add(" 0 0 ");
      line.add(message_.count);
      out.body_from = value_from(asked.item);
      out.body_length = message_.count;
      out.tail = "\r\n";
    }
    line.add("\r\n");
    out.head = line.text();
    return out;
  }
  line.add(upload_ ? "PUT " : "GET ");
  line.add(catalogue_.items[asked.item].name);
  line.add(" HTTP/1.1\r\nHost: ");
  line.add(target.authority);
  line.add("\r\n");
  if (asked.is_last && close_mode_ == CloseMode::server) {
    line.add("Connection: close\r\n");
  }
  if (upload_) {
    line.add("Content-Length: ");
    line.add(*upload_);
    line.add("\r\n");
    out.body_length = *upload_;
  }
  line.add("\r\n");
  out.head = line.text();
  return out;
}

Expected Composer::expected(const Asked& asked) const {
  if (protocol_ == Protocol::echo) {
    return {message_.count, asked.from, pattern_};
  }
  if (protocol_ == Protocol::memcached) {
    return {message_.count, value_from(asked.item), pattern_, asked.is_update};
  }
  const Item& item = catalogue_.items[asked.item];
  if (!item.text.empty()) {
    return {item.text.size(), 0, std::as_bytes(std::span(item.text))};
  }
  return {item.length, 0, item.is_pattern ? pattern_ : std::span<const std::byte>{}};
}

}  // namespace lockstep::load
