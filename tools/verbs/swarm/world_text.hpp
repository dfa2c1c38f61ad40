// A drawn world as text, so that what a seed once drew outlives changes of the drawing.
#pragma once

#include <cstdint>
#include <string>

#include "sim/kernel/world.hpp"

namespace lockstep::tools {

/// A world and the seed that its run draws from. `broke` says what it once broke: one line.
struct SavedWorld {
  std::string broke;
  std::uint64_t seed = 0;
  sim::World world;
};

/// One line a field, "name value": all of them, so that a new default changes no saved world.
std::string text_of(const SavedWorld& saved);

/// The inverse. `origin` names the text in errors. Throws Failure (bad_input) with the line of a
/// field that there isn't, a value out of range, or a world that cannot be run.
SavedWorld read_saved_world(const std::string& text, const std::string& origin);
SavedWorld load_saved_world(const std::string& path);

}  // namespace lockstep::tools
