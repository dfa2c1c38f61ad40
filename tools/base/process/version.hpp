// The version of Lockstep, from which CMakeLists.txt and pyproject.toml read it.
#pragma once

namespace lockstep::tools {

inline constexpr const char* version = "0.1.0";

}  // namespace lockstep::tools
