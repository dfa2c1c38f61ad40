// Why a resource of the machine could not be obtained: one line for the user.
#pragma once

#include <string>
#include <utility>

namespace lockstep::hw {

// bad_input: the request is invalid. environment: a permission or a device is missing.
enum class TroubleKind : unsigned char { none, bad_input, environment };

// The text names the resource, what was expected, and the mend.
struct Trouble {
  TroubleKind kind = TroubleKind::none;
  std::string text;

  explicit operator bool() const { return kind != TroubleKind::none; }
};

inline Trouble environment(std::string text) { return {TroubleKind::environment, std::move(text)}; }
inline Trouble bad_input(std::string text) { return {TroubleKind::bad_input, std::move(text)}; }

}  // namespace lockstep::hw
