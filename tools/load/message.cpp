// Draws by weight; writes the head of a request into fixed room.
#include "tools/load/message.hpp"

#include <algorithm>

#include "core/units/check.hpp"

namespace lockstep::load {
namespace {

/// Appends to fixed room that is known to suffice.
class Line {
 public:
  explicit Line(std::span<char> into) : into_(into) {}
  void add(std::string_view text) {
    CHECK(text.size() <= into_.size() - length_);
    std::copy(text.begin(), text.end(), into_.begin() + static_cast<std::ptrdiff_t>(length_));
    length_ += text.size();
  }
  std::string_view text() const { return {into_.data(), length_}; }

 private:
  std::span<char> into_;
  std::size_t length_ = 0;
};

}  // namespace

Composer::Composer(const Plan& plan, const http::Site& site)
    : protocol_(plan.protocol),
      farewell_(plan.farewell),
      message_(plan.message),
      catalogue_(plan.catalogue),
      pattern_(site.pattern()),
      random_(Random(plan.seed).fork("requests")) {
  CHECK(catalogue_.weights.empty() || catalogue_.weights.size() == catalogue_.items.size());
  for (std::uint32_t const weight : catalogue_.weights) {
    weight_ += weight;
    cumulative_.push_back(weight_);
  }
  CHECK(protocol_ != Protocol::echo || message_.count < pattern_.size());
}

Asked Composer::draw(Instant wanted, bool is_last) {
  Asked one;
  one.wanted = wanted;
  one.is_last = is_last;
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

Message Composer::compose(const Asked& asked, const Target& target) {
  Message out;
  if (protocol_ == Protocol::echo) {
    out.body_from = asked.from;
    out.body_length = message_.count;
    return out;
  }
  Line line(text_);
  line.add("GET ");
  line.add(catalogue_.items[asked.item].name);
  line.add(" HTTP/1.1\r\nHost: ");
  line.add(target.authority);
  line.add("\r\n");
  if (asked.is_last && farewell_ == Farewell::server) {
    line.add("Connection: close\r\n");
  }
  line.add("\r\n");
  out.head = line.text();
  return out;
}

Expected Composer::expected(const Asked& asked) const {
  if (protocol_ == Protocol::echo) {
    return {message_.count, asked.from, pattern_};
  }
  const Item& item = catalogue_.items[asked.item];
  return {item.length, 0, item.is_pattern ? pattern_ : std::span<const std::byte>{}};
}

}  // namespace lockstep::load
