// A Result as JSON, for the programs that print one.
#pragma once

#include <nlohmann/json.hpp>

#include "tools/proofs/bench/result.hpp"

namespace lockstep::tools::benchmark {

inline nlohmann::json json_of(const Result& result) {
  return {{"units", result.units},
          {"bytes", result.bytes},
          {"frames", result.frames},
          {"nanoseconds", result.nanoseconds},
          {"retransmissions", result.retransmissions},
          {"drops", result.drops}};
}

}  // namespace lockstep::tools::benchmark
