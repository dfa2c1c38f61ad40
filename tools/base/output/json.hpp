// JSON in the format of every verb.
#pragma once

#include <istream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace lockstep::tools {

/// Indents by two spaces and ends with a newline. Invalid UTF-8, as in file names, becomes U+FFFD.
std::string json_text(const nlohmann::ordered_json& document);
std::string json_text(const nlohmann::json& document);

/// The document in a text or a file. Throws nlohmann::json::parse_error if it is not JSON.
nlohmann::ordered_json parse_json(std::string_view text);
nlohmann::ordered_json parse_json(std::istream& file);

}  // namespace lockstep::tools
