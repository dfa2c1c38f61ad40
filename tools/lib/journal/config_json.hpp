// Converts a stack's whole configuration to JSON and back.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/stack/config.hpp"

namespace lockstep::journal {

/// Every field including the keys, with which sequence numbers and ports can be predicted.
nlohmann::ordered_json json_of(const Config& config);
/// Returns false and sets `fault` to the field's name if a field is missing, unknown or out of
/// range.
bool config_from(const nlohmann::ordered_json& json, Config& out, std::string& fault);

}  // namespace lockstep::journal
