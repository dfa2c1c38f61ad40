// Compares the runtime's memory functions with loops over octets, at every alignment.
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace {

constexpr std::size_t room = 96;
constexpr std::size_t offsets = 17;
constexpr std::size_t lengths = 50;

using Octets = unsigned char[room];

void fill(Octets& octets, unsigned seed) {
  for (std::size_t i = 0; i < room; ++i) {
    octets[i] = static_cast<unsigned char>(seed + i * 37);
  }
}

bool same(const Octets& one, const Octets& other) {
  for (std::size_t i = 0; i < room; ++i) {
    if (one[i] != other[i]) {
      return false;
    }
  }
  return true;
}

// Also within one array, where source and target overlap in either direction.
bool moves_well(std::size_t to, std::size_t from, std::size_t length) {
  Octets source, copied, moved, expected, within;
  fill(source, 1);
  fill(copied, 2);
  fill(moved, 2);
  fill(expected, 2);
  for (std::size_t i = 0; i < length; ++i) {
    expected[to + i] = source[from + i];
  }
  std::memcpy(copied + to, source + from, length);
  std::memmove(moved + to, source + from, length);
  bool const apart = same(copied, expected) && same(moved, expected);
  fill(within, 1);
  fill(expected, 1);
  for (std::size_t i = 0; i < length; ++i) {
    expected[to + i] = source[from + i];
  }
  std::memmove(within + to, within + from, length);
  return apart && same(within, expected);
}

bool sets_well(std::size_t to, std::size_t length) {
  Octets found, expected;
  fill(found, 3);
  fill(expected, 3);
  for (std::size_t i = 0; i < length; ++i) {
    expected[to + i] = 0xa5;
  }
  std::memset(found + to, 0xa5, length);
  return same(found, expected);
}

// The octet at `length` differs: it is just beyond what is compared, or the last one compared.
bool compares_well(std::size_t offset, std::size_t length) {
  Octets one, other;
  fill(one, 4);
  fill(other, 4);
  other[offset + length] = static_cast<unsigned char>(one[offset + length] + 1);
  int const sign = one[offset + length] < other[offset + length] ? -1 : 1;
  return std::memcmp(one + offset, other + offset, length) == 0 &&
         std::memcmp(one + offset, other + offset, length + 1) * sign > 0 &&
         std::memchr(one + offset, one[offset + length], length + 1) == one + offset + length;
}

bool all_well() {
  for (std::size_t length = 0; length < lengths; ++length) {
    for (std::size_t to = 0; to < offsets; ++to) {
      if (!sets_well(to, length) || !compares_well(to, length)) {
        return false;
      }
      for (std::size_t from = 0; from < offsets; ++from) {
        if (!moves_well(to, from, length)) {
          return false;
        }
      }
    }
  }
  return true;
}

}  // namespace

int main() {
  bool const well = all_well();
  std::fputs(well ? "memory functions: correct\n" : "memory functions: WRONG\n", stdout);
  return well && std::fflush(stdout) == 0 ? 0 : 1;
}
