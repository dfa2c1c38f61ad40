// The names of Config's fields.
#pragma once

#include <string>
#include <vector>

namespace lockstep::tools {

/// The names in core/stack/config_fields.hpp, in that order.
std::vector<std::string> field_names();

}  // namespace lockstep::tools
