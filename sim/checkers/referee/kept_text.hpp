// The last octets of a stream, indexed by sequence number, so that a retransmission can be compared
// with what it repeats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/units/sequence.hpp"

namespace lockstep::sim::referee {

class KeptText {
 public:
  // The number of octets it has room for: zero or a power of two.
  std::uint32_t size() const { return static_cast<std::uint32_t>(octets_.size()); }
  // The sequence number after the last octet kept.
  Sequence top() const { return top_; }

  // Makes room for `size` octets, a power of two of at least 64 and more than before. The octets
  // known are kept.
  void grow(std::uint32_t size);
  // Forgets all octets. The room stays.
  void forget();

  struct Difference {
    std::uint32_t count = 0;  // of octets that differ from what was known
    Sequence first;
  };
  // Compares `text`, which begins at `begin`, with the octets known, then keeps it. Octets further
  // before the last one than size() are forgotten, and passed over.
  Difference take(Sequence begin, std::span<const std::byte> text);

 private:
  bool append(Sequence begin, std::span<const std::byte> text);
  bool repeats(Sequence begin, std::span<const std::byte> text) const;
  void settle();
  void reach(Sequence end);

  std::vector<std::byte> octets_;
  std::vector<std::uint64_t> known_;  // a bit an octet, for those before solid_
  Sequence solid_;                    // all octets from here to top_ are known
  Sequence top_;
  bool begun_ = false;
};

}  // namespace lockstep::sim::referee
