// A ring of octets with a bit for each that says whether it is known.
#include "sim/checkers/referee/kept_text.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace lockstep::sim::referee {
namespace {

using Bits = std::vector<std::uint64_t>;

constexpr std::uint32_t word_bits = 64;

// Places of the ring, [begin, end).
struct Places {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  // Calls `use(word, mask)` for each word that has bits of these places.
  template <class Use>
  void each_word(const Use& use) const {
    for (std::uint32_t word = begin / word_bits; word * word_bits < end; ++word) {
      std::uint32_t const first = word * word_bits;
      std::uint64_t mask = ~std::uint64_t{0};
      mask &= begin > first ? ~std::uint64_t{0} << (begin - first) : mask;
      mask &= end - first < word_bits ? ~std::uint64_t{0} >> (first + word_bits - end) : mask;
      use(word, mask);
    }
  }
};

void mark_known(Bits& bits, Places places) {
  places.each_word([&](std::uint32_t word, std::uint64_t mask) { bits[word] |= mask; });
}

void mark_unknown(Bits& bits, Places places) {
  places.each_word([&](std::uint32_t word, std::uint64_t mask) { bits[word] &= ~mask; });
}

bool bit_of(const Bits& bits, std::uint32_t at) {
  return (bits[at / word_bits] >> (at % word_bits) & 1) != 0;
}

}  // namespace

void KeptText::grow(std::uint32_t size) {
  std::uint32_t const old = this->size();
  settle();
  std::vector<std::byte> octets(size);
  Bits known(size / word_bits);
  // Only what is known is copied: most of a ring that has just grown is not.
  for (std::uint32_t word = 0; word * word_bits < old; ++word) {
    std::uint64_t const bits = known_[word];
    for (std::uint64_t left = bits; left != 0; left &= left - 1) {
      std::uint32_t const from =
          word * word_bits + static_cast<std::uint32_t>(std::countr_zero(left));
      std::uint32_t const back = (top_.value - 1 - from) & (old - 1);
      std::uint32_t const to = (top_.value - 1 - back) & (size - 1);
      octets[to] = octets_[from];
      known[to / word_bits] |= std::uint64_t{1} << (to % word_bits);
    }
  }
  octets_.swap(octets);
  known_.swap(known);
}

void KeptText::forget() {
  std::fill(known_.begin(), known_.end(), std::uint64_t{0});
  solid_ = top_;
  begun_ = false;
}

// Writes the run of known octets before top_ to the bits.
void KeptText::settle() {
  std::uint32_t const count = top_.since(solid_).count;
  if (count != 0) {
    std::uint32_t const from = solid_.value & (size() - 1);
    std::uint32_t const straight = std::min(count, size() - from);
    mark_known(known_, {from, from + straight});
    mark_known(known_, {0, count - straight});
    solid_ = top_;
  }
}

// Most text follows the last octet.
bool KeptText::append(Sequence begin, std::span<const std::byte> text) {
  if (begin != top_ || !begun_ || text.size() > size()) {
    return false;
  }
  std::uint32_t const at = begin.value & (size() - 1);
  std::size_t const straight = std::min<std::size_t>(text.size(), size() - at);
  std::memcpy(octets_.data() + at, text.data(), straight);
  std::memcpy(octets_.data(), text.data() + straight, text.size() - straight);
  top_ = top_ + Bytes{static_cast<std::uint32_t>(text.size())};
  solid_ = last_of(solid_, top_ - Bytes{size()});
  return true;
}

// Most other text is equal to what is known.
bool KeptText::repeats(Sequence begin, std::span<const std::byte> text) const {
  Sequence const end = begin + Bytes{static_cast<std::uint32_t>(text.size())};
  if (begin.before(solid_) || end.after(top_) || text.size() > size()) {
    return false;
  }
  std::uint32_t const at = begin.value & (size() - 1);
  std::size_t const straight = std::min<std::size_t>(text.size(), size() - at);
  return std::memcmp(octets_.data() + at, text.data(), straight) == 0 &&
         std::memcmp(octets_.data(), text.data() + straight, text.size() - straight) == 0;
}

// Lets the store end at `end` or later: octets too far before it are forgotten.
void KeptText::reach(Sequence end) {
  std::uint32_t const fresh = std::min(end.since(top_).count, size());
  std::uint32_t const from = (end - Bytes{fresh}).value & (size() - 1);
  std::uint32_t const straight = std::min(fresh, size() - from);
  mark_unknown(known_, {from, from + straight});
  mark_unknown(known_, {0, fresh - straight});
  solid_ = top_ = last_of(top_, end);
}

KeptText::Difference KeptText::take(Sequence begin, std::span<const std::byte> text) {
  Difference out;
  if (append(begin, text) || repeats(begin, text)) {
    return out;
  }
  settle();
  if (!begun_) {
    solid_ = top_ = begin;
    begun_ = true;
  }
  reach(begin + Bytes{static_cast<std::uint32_t>(text.size())});
  std::uint32_t const behind = top_.since(begin).count;
  std::size_t const lost = std::min<std::size_t>(text.size(), behind - std::min(behind, size()));
  text = text.subspan(lost);
  begin = begin + Bytes{static_cast<std::uint32_t>(lost)};
  while (!text.empty()) {
    std::uint32_t const at = begin.value & (size() - 1);
    auto const count = static_cast<std::uint32_t>(std::min<std::size_t>(text.size(), size() - at));
    for (std::uint32_t i = 0; i < count; ++i) {
      if (bit_of(known_, at + i) && octets_[at + i] != text[i] && out.count++ == 0) {
        out.first = begin + Bytes{i};
      }
    }
    std::memcpy(octets_.data() + at, text.data(), count);
    mark_known(known_, {at, at + count});
    text = text.subspan(count);
    begin = begin + Bytes{count};
  }
  return out;
}

}  // namespace lockstep::sim::referee
