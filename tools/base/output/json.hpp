// JSON as every verb writes it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace lockstep::tools {

/// Two blanks a level, and a line's end. Names of files may hold any octets: what is not UTF-8 is
/// written as U+FFFD.
template <class Json>
std::string json_text(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lockstep::tools
