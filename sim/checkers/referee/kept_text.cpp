// A ring of octets with a bit for each that says whether it is known.
#include "sim/checkers/referee/kept_text.hpp"

#include <algorithm>
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

enum class Known : std::uint8_t { none, some, all };

Known known_of(const Bits& bits, Places places) {
  bool any = false;
  bool all = true;
  places.each_word([&](std::uint32_t word, std::uint64_t mask) {
    any = any || (bits[word] & mask) != 0;
    all = all && (bits[word] & mask) == mask;
  });
  return !any ? Known::none : all ? Known::all : Known::some;
}

bool bit_of(const Bits& bits, std::uint32_t at) {
  return (bits[at / word_bits] >> (at % word_bits) & 1) != 0;
}

}  // namespace

void KeptText::grow(std::uint32_t size) {
  std::uint32_t const old = this->size();
  std::vector<std::byte> octets(size);
  Bits known(size / word_bits);
  for (std::uint32_t i = 1; i <= old; ++i) {
    std::uint32_t const at = (top_ - Bytes{i}).value;
    std::uint32_t const from = at & (old - 1);
    std::uint32_t const to = at & (size - 1);
    octets[to] = octets_[from];
    known[to / word_bits] |= std::uint64_t{bit_of(known_, from)} << (to % word_bits);
  }
  octets_.swap(octets);
  known_.swap(known);
}

void KeptText::forget() {
  std::fill(known_.begin(), known_.end(), std::uint64_t{0});
  begun_ = false;
}

void KeptText::reach(Sequence begin, Sequence end) {
  top_ = begun_ ? top_ : begin;
  begun_ = true;
  std::uint32_t const mask = size() - 1;
  std::uint32_t const fresh = std::min(end.since(top_).count, size());
  std::uint32_t const from = (end - Bytes{fresh}).value & mask;
  std::uint32_t const straight = std::min(fresh, size() - from);
  mark_unknown(known_, {from, from + straight});
  mark_unknown(known_, {0, fresh - straight});
  top_ = last_of(top_, end);
}

KeptText::Difference KeptText::compare_and_keep(Sequence begin, std::span<const std::byte> text) {
  Difference out;
  std::uint32_t const behind = top_.since(begin).count;
  std::size_t const lost = std::min<std::size_t>(text.size(), behind - std::min(behind, size()));
  text = text.subspan(lost);
  begin = begin + Bytes{static_cast<std::uint32_t>(lost)};
  while (!text.empty()) {
    std::uint32_t const at = begin.value & (size() - 1);
    auto const count = static_cast<std::uint32_t>(std::min<std::size_t>(text.size(), size() - at));
    std::byte* const kept = octets_.data() + at;
    Known const known = known_of(known_, {at, at + count});
    bool const same = known == Known::all && std::memcmp(kept, text.data(), count) == 0;
    if (known != Known::none && !same) {
      for (std::uint32_t i = 0; i < count; ++i) {
        if (bit_of(known_, at + i) && kept[i] != text[i] && out.count++ == 0) {
          out.first = begin + Bytes{i};
        }
      }
    }
    if (!same) {
      std::memcpy(kept, text.data(), count);
      mark_known(known_, {at, at + count});
    }
    text = text.subspan(count);
    begin = begin + Bytes{count};
  }
  return out;
}

}  // namespace lockstep::sim::referee
