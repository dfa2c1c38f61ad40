// A drawn world as text, which stays the same when the drawing of seeds changes.
#pragma once

#include <cstdint>
#include <string>

#include "sim/kernel/world.hpp"

namespace lockstep::tools {

/// A world and the seed of its run. `broke` says in one line what failed.
struct SavedWorld {
  std::string broke;
  std::uint64_t seed = 0;
  sim::World world;
};

/// One line per field, "name value": all fields, so that a new default does not change saved
/// worlds.
std::string text_of(const SavedWorld& saved);

/// The inverse. `origin` names the text in errors. Throws Failure (bad_input) with the line of an
/// unknown field, a value out of range, or a world that cannot be run.
SavedWorld read_saved_world(const std::string& text, const std::string& origin);
SavedWorld load_saved_world(const std::string& path);

}  // namespace lockstep::tools
