// JSON in the format of every verb.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace lockstep::tools {

/// Indents by two spaces and ends with a newline. Invalid UTF-8, as in file names, becomes U+FFFD.
template <class Json>
std::string json_text(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lockstep::tools
