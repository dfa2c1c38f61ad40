// Integer expressions of the shell, $(( )), and of the preprocessor, #if.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "conformance/script/syntax.hpp"

namespace lockstep::conformance::script {

/// As C computes it, with 64 bits; a name that is not defined is 0, and `defined(NAME)` is 1 or 0.
/// Nothing if the text is no expression, or its value needs more than 64 bits.
std::optional<std::int64_t> arithmetic(std::string_view text, const Defines& defines);

}  // namespace lockstep::conformance::script
