// The error message for a port on which the stack cannot listen.
#pragma once

#include <fmt/core.h>

#include "core/stack/stack.hpp"
#include "hw/trouble.hpp"
#include "tools/verbs/serve/plan.hpp"

namespace lockstep::tools {

inline hw::Trouble not_listening(const ServePlan& plan, Refusal refused) {
  if (refused == Refusal::none) {
    return {};
  }
  return {hw::TroubleKind::bad_input,
          fmt::format("port {}: {}: choose another", plan.server.port.value, name_of(refused))};
}

}  // namespace lockstep::tools
