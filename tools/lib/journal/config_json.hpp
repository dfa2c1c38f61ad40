// A stack's whole configuration as JSON, there and back.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/stack/config.hpp"

namespace lockstep::journal {

/// Every field, the keys too: who has it can foretell sequence numbers and ports.
nlohmann::ordered_json json_of(const Config& config);
/// False, and `fault` says which field, if one is missing, unknown or out of its range.
bool config_from(const nlohmann::ordered_json& json, Config& out, std::string& fault);

}  // namespace lockstep::journal
