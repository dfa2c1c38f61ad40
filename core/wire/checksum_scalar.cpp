// The checksum loops in plain C++, eight octets at a time.
#include <cstring>

#include "core/wire/checksum_means.hpp"

namespace lockstep::wire {
namespace {

struct Nothing {
  void operator()(std::size_t, const void*, std::size_t) const {}
};

struct Copy {
  std::byte* into;
  void operator()(std::size_t at, const void* word, std::size_t size) const {
    std::memcpy(into + at, word, size);
  }
};

template <class Word>
Word load(const std::byte* from) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// `keep` is called for every word read.
template <class Keep>
std::uint64_t run(const std::byte* from, std::size_t size, Keep keep) {
  std::uint64_t even = 0;
  std::uint64_t odd = 0;
  std::size_t at = 0;
  auto const sixteen = [&](std::size_t place) {
    auto const first = load<std::uint64_t>(from + place);
    auto const second = load<std::uint64_t>(from + place + 8);
    keep(place, &first, sizeof first);
    keep(place + 8, &second, sizeof second);
    even = add_around(even, first);
    odd = add_around(odd, second);
  };
  for (; size - at >= 32; at += 32) {
    sixteen(at);
    sixteen(at + 16);
  }
  if ((size & 16) != 0) {
    sixteen(at);
    at += 16;
  }
  if ((size & 8) != 0) {
    auto const word = load<std::uint64_t>(from + at);
    keep(at, &word, sizeof word);
    even = add_around(even, word);
    at += 8;
  }
  if ((size & 4) != 0) {
    auto const word = load<std::uint32_t>(from + at);
    keep(at, &word, sizeof word);
    odd = add_around(odd, word);
    at += 4;
  }
  if ((size & 2) != 0) {
    auto const word = load<std::uint16_t>(from + at);
    keep(at, &word, sizeof word);
    even = add_around(even, word);
    at += 2;
  }
  //= rfc9293#3.1
  //# 9293:P-CKSUM-ODD an odd last octet is padded with a zero octet, which is not sent
  if ((size & 1) != 0) {
    std::uint16_t word = 0;
    std::memcpy(&word, from + at, 1);
    keep(at, &word, 1);
    odd = add_around(odd, word);
  }
  return add_around(even, odd);
}

}  // namespace

std::uint64_t sum_scalar(const std::byte* from, std::size_t size) {
  return run(from, size, Nothing{});
}

std::uint64_t copy_scalar(std::byte* into, const std::byte* from, std::size_t size) {
  return run(from, size, Copy{into});
}

}  // namespace lockstep::wire
