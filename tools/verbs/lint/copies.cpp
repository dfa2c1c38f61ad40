// Finds copies by a hash of the TCP segment and the IP identification.
#include "tools/verbs/lint/copies.hpp"

#include <algorithm>
#include <span>

namespace lockstep::tools {
namespace {

constexpr Duration a_moment = Duration::milliseconds(10);

class Hash {
 public:
  void add(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) {
      add_octet(static_cast<std::uint8_t>(value >> shift));
    }
  }
  void add(std::span<const std::byte> bytes) {
    for (std::byte const octet : bytes) {
      add_octet(std::to_integer<std::uint8_t>(octet));
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  // FNV-1a.
  void add_octet(std::uint8_t octet) { value_ = (value_ ^ octet) * 0x100'0000'01b3u; }

  std::uint64_t value_ = 0xcbf2'9ce4'8422'2325u;
};

std::uint64_t hash_of(const Segment& segment) {
  Hash hash;
  for (const Endpoint& end : {segment.source, segment.destination}) {
    hash.add(end.address.high);
    hash.add(end.address.low);
    hash.add(end.port.value);
  }
  hash.add(std::uint64_t{segment.sequence} << 32 | segment.acknowledgment);
  hash.add(std::uint64_t{segment.flags} << 32 | segment.window);
  hash.add(std::uint64_t{segment.identification} << 32 | segment.missing);
  hash.add(segment.options);
  hash.add(segment.payload);
  return hash.value();
}

}  // namespace

Copies::Record Copies::add(const Segment& segment) {
  std::uint64_t const hash = hash_of(segment);
  std::uint32_t const most = segment.identification != 0 ? any_number : each_;
  auto& row = seen_[hash % rows];
  bool equal = false;
  auto const first = std::find_if(row.begin(), row.end(), [&](const Seen& seen) {
    bool const same = seen.hash == hash && segment.time.since(seen.at) <= a_moment;
    equal = equal || same;
    return same && seen.copies < most;
  });
  if (first != row.end()) {
    return {++first->copies, true};
  }
  *std::ranges::min_element(row, {}, [](const Seen& seen) { return seen.at; }) = {hash,
                                                                                  segment.time, 0};
  return {0, equal};
}

}  // namespace lockstep::tools
