// Writing and parsing are compiled here once, because both take long to compile.
#include "tools/base/output/json.hpp"

namespace lockstep::tools {

using nlohmann::ordered_json;

std::string json_text(const ordered_json& document) {
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string json_text(const nlohmann::json& document) {
  return document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

ordered_json parse_json(std::string_view text) { return ordered_json::parse(text); }
ordered_json parse_json(std::istream& file) { return ordered_json::parse(file); }

}  // namespace lockstep::tools
