// The version that the program prints; program_test compares it with the build's.
#pragma once

namespace lockstep::tools {

inline constexpr const char* version = "0.1.0";

}  // namespace lockstep::tools
