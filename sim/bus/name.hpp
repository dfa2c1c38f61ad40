// A short name as a plain value, for hosts, links and faults.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace lockstep::sim {

// At most `length_max` characters; longer text is truncated. Compares by content.
class Name {
 public:
  static constexpr std::uint32_t length_max = 31;

  constexpr Name() = default;
  constexpr Name(std::string_view text) {  // NOLINT: a literal is a name
    for (char letter : text) {
      if (length_ == length_max) {
        break;
      }
      letters_[length_++] = letter;
    }
  }

  constexpr Name(const char* text) : Name(std::string_view(text)) {}  // NOLINT: see above

  constexpr std::string_view view() const { return {letters_.data(), length_}; }
  constexpr bool empty() const { return length_ == 0; }
  constexpr bool operator==(const Name&) const = default;

 private:
  std::array<char, length_max> letters_{};
  std::uint8_t length_ = 0;
};

}  // namespace lockstep::sim
