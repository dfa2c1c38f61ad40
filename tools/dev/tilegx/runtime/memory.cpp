// memcpy, memmove, memset, memcmp and similar functions, eight octets at a time.
//
// Loads of eight octets must be aligned. If source and target are aligned differently, two
// neighbouring words are loaded and combined (dblalign).
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

// A word that may alias objects of any type.
using Word = std::uint64_t __attribute__((may_alias));
constexpr std::size_t word_bytes = sizeof(Word);

std::size_t past_word(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % word_bytes;
}

// Copies whole words to an aligned target from a source of any alignment. Reads no word without
// octets of the source.
void copy_words(std::byte* to, const std::byte* from, std::size_t words) {
  auto* target = reinterpret_cast<Word*>(to);
  if (past_word(from) == 0) {
    auto const* source = reinterpret_cast<const Word*>(from);
    for (std::size_t i = 0; i < words; ++i) {
      target[i] = source[i];
    }
    return;
  }
  auto const* source = reinterpret_cast<const Word*>(from - past_word(from));
  Word low = *source++;
  for (std::size_t i = 0; i < words; ++i) {
    Word const high = *source++;
    target[i] = __insn_dblalign(low, high, from);
    low = high;
  }
}

}  // namespace

extern "C" {

void* memcpy(void* __restrict to, const void* __restrict from, std::size_t count) {
  auto* target = static_cast<std::byte*>(to);
  auto const* source = static_cast<const std::byte*>(from);
  if (count >= 2 * word_bytes) {
    for (; past_word(target) != 0; --count) {
      *target++ = *source++;
    }
    std::size_t const words = count / word_bytes;
    copy_words(target, source, words);
    target += words * word_bytes;
    source += words * word_bytes;
    count %= word_bytes;
  }
  for (; count > 0; --count) {
    *target++ = *source++;
  }
  return to;
}

void* memmove(void* to, const void* from, std::size_t count) {
  auto* const target = static_cast<std::byte*>(to);
  auto const* const source = static_cast<const std::byte*>(from);
  if (target + count <= source || source + count <= target) {
    return memcpy(to, from, count);
  }
  if (target < source) {
    for (std::size_t i = 0; i < count; ++i) {
      target[i] = source[i];
    }
  } else {
    while (count > 0) {
      --count;
      target[count] = source[count];
    }
  }
  return to;
}

void* memset(void* to, int value, std::size_t count) {
  auto* target = static_cast<unsigned char*>(to);
  auto const octet = static_cast<unsigned char>(value);
  for (; count > 0 && past_word(target) != 0; --count) {
    *target++ = octet;
  }
  Word const word = octet * Word{0x0101'0101'0101'0101};
  for (; count >= word_bytes; count -= word_bytes) {
    *reinterpret_cast<Word*>(target) = word;
    target += word_bytes;
  }
  for (; count > 0; --count) {
    *target++ = octet;
  }
  return to;
}

int memcmp(const void* one, const void* other, std::size_t count) {
  auto const* left = static_cast<const unsigned char*>(one);
  auto const* right = static_cast<const unsigned char*>(other);
  for (std::size_t i = 0; i < count; ++i) {
    if (left[i] != right[i]) {
      return left[i] < right[i] ? -1 : 1;
    }
  }
  return 0;
}

void* memchr(const void* in, int value, std::size_t count) {
  auto const* octets = static_cast<const unsigned char*>(in);
  for (std::size_t i = 0; i < count; ++i) {
    if (octets[i] == static_cast<unsigned char>(value)) {
      return const_cast<unsigned char*>(octets + i);
    }
  }
  return nullptr;
}

std::size_t strlen(const char* text) {
  std::size_t length = 0;
  while (text[length] != '\0') {
    ++length;
  }
  return length;
}

int strcmp(const char* one, const char* other) {
  while (*one != '\0' && *one == *other) {
    ++one;
    ++other;
  }
  return static_cast<unsigned char>(*one) - static_cast<unsigned char>(*other);
}

}  // extern "C"
