// Makes a failing input small: removes and simplifies what the failure does not need.
#pragma once

#include <cstdint>
#include <functional>

#include "conformance/compare/input.hpp"

namespace lockstep::conformance::compare {

/// The smallest input found for which `fails` still holds; it holds for `failing`. Calls `fails` at
/// most `tries_most` times.
Input shrink_input(const Input& failing, const std::function<bool(const Input&)>& fails,
                   std::uint32_t tries_most);

}  // namespace lockstep::conformance::compare
