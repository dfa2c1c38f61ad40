// Builds the Config of a stack from arguments of a Python caller.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/stack/config.hpp"

namespace lockstep::tools::python {

/// A field's value: a number (durations in nanoseconds, booleans 0 or 1), or text with a unit
/// ("200ms", "64KiB"), or a word ("cubic").
using FieldValue = std::variant<std::uint64_t, std::string>;

/// The value that a command line names: a number, "true" or "false", or text with a unit.
FieldValue field_value(const std::string& text);

/// The configuration of a stack, as text.
struct StackSpec {
  std::string profile = "rfc";
  std::uint64_t seed = 0;
  std::string link = "ip";
  std::vector<std::string> addresses;             ///< "10.0.0.1", or "10.0.0.1/24"
  std::uint64_t mtu = 1500;                       ///< bytes, IP header included
  std::string gateway;                            ///< for IPv4; empty: none
  std::string mac;                                ///< Ethernet address; empty: 02:00:00:00:00:01
  std::map<std::string, std::string> neighbours;  ///< IP address to Ethernet address
  std::vector<std::pair<std::string, FieldValue>> fields;
};

/// The profile with small pools, the addresses and the keys drawn from the seed; then `fields`.
/// Throws Failure (bad_input) with one line.
Config config_of(const StackSpec& spec);

/// Sets the field that `lockstep profiles` lists by this name. Throws Failure (bad_input) with one
/// line.
void set_field(Config& config, const std::string& name, const FieldValue& value);

/// A field, its unit and range; or its words.
struct FieldInfo {
  std::string name;
  std::string unit;
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  std::vector<std::string> words;
  std::uint64_t value = 0;  ///< in the profile
};
std::vector<FieldInfo> fields_of(const std::string& profile);

/// Parsers of text. Each throws Failure (bad_input), naming `what`.
Config profile_of(const std::string& name);
IpAddress address_of(const std::string& text, const char* what);
Duration duration_of(const std::string& text);

}  // namespace lockstep::tools::python
