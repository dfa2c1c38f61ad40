// The names that scripts use for numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lockstep::script {

/// AF_INET, O_NONBLOCK, ...: nothing if no such name is known here.
std::optional<std::int64_t> number_of(std::string_view name);

}  // namespace lockstep::script
