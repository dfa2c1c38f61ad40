// A line of text in a fixed buffer: sim uses no std::string.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace lockstep::sim {

// Text that does not fit is truncated.
class Line {
 public:
  static constexpr std::uint32_t length_max = 480;

  constexpr Line& add(std::string_view text) {
    for (char letter : text) {
      if (length_ == length_max) {
        break;
      }
      letters_[length_++] = letter;
    }
    return *this;
  }

  constexpr Line& add(std::uint64_t number) {
    std::array<char, 20> digits{};
    std::uint32_t count = 0;
    do {
      digits[count++] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    while (count != 0) {
      --count;
      add(std::string_view(&digits[count], 1));
    }
    return *this;
  }

  constexpr Line& add_hex(std::uint64_t number) {
    for (int shift = 60; shift >= 0; shift -= 4) {
      add(std::string_view(&"0123456789abcdef"[number >> shift & 0xf], 1));
    }
    return *this;
  }

  constexpr std::string_view view() const { return {letters_.data(), length_}; }

 private:
  std::array<char, length_max> letters_{};
  std::uint32_t length_ = 0;
};

// Text of any length that a world carries for its stations.
class Text {
 public:
  Text() = default;
  Text(std::string_view text) : letters_(text.begin(), text.end()) {}  // NOLINT: text is text

  std::string_view view() const { return {letters_.data(), letters_.size()}; }
  bool empty() const { return letters_.empty(); }

 private:
  std::vector<char> letters_;
};

}  // namespace lockstep::sim
