// Converts an error of the drivers to the program's Failure.
#pragma once

#include "hw/trouble.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::tools {

/// Throws Failure if there is an error.
inline void refuse(const hw::Trouble& trouble) {
  if (trouble) {
    throw Failure(
        trouble.kind == hw::TroubleKind::bad_input ? ExitCode::bad_input : ExitCode::environment,
        trouble.text);
  }
}

}  // namespace lockstep::tools
