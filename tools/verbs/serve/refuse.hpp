// What the drivers say is wrong, as the program says it.
#pragma once

#include "hw/trouble.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::tools {

/// Throws Failure, unless there is no trouble.
inline void refuse(const hw::Trouble& trouble) {
  if (trouble) {
    throw Failure(
        trouble.kind == hw::TroubleKind::bad_input ? ExitCode::bad_input : ExitCode::environment,
        trouble.text);
  }
}

}  // namespace lockstep::tools
