// Controllers that a program adds to the built-in ones, by the C interface of controller.h.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/tcp/config.hpp"
#include "core/tcp/congestion/controller.h"

namespace lockstep::tcp {

// How many may be added to one program.
inline constexpr std::uint32_t added_max = 29;

// Adds a controller, which must exist as long as any stack: its name becomes a word of
// Config::congestion. Returns the reason why it cannot be added; empty: it was. Call it before the
// program reads configurations or makes stacks, from one thread. A program with several controllers
// adds them in the same order each time.
[[nodiscard]] std::string_view add_controller(const lockstep_controller& controller);

// Adds a controller before main() begins: static AddedController const mine{controller};
// CHECKs that it can be added.
struct AddedController {
  explicit AddedController(const lockstep_controller& controller);
};

// The names of all controllers; a Congestion is an index.
std::span<const std::string_view> congestion_words();

constexpr bool is_added(Congestion congestion) {
  return static_cast<std::uint32_t>(congestion) >= congestion_count;
}
// Null for a built-in one.
const lockstep_controller* added_controller(Congestion congestion);

// Whether stacks of this configuration pace what they send.
bool is_paced(const Config& config);

}  // namespace lockstep::tcp
