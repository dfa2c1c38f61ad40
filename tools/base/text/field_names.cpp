// The names of Config's fields.
#include "tools/base/text/field_names.hpp"

#include <string_view>

#include "core/stack/config_fields.hpp"

namespace lockstep::tools {

std::vector<std::string> field_names() {
  Config config;
  std::vector<std::string> out;
  visit_fields(config,
               [&](std::string_view name, Unit, FieldRange, auto&) { out.emplace_back(name); });
  visit_choices(config, [&](std::string_view name, auto, auto&) { out.emplace_back(name); });
  return out;
}

}  // namespace lockstep::tools
