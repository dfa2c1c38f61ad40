// The four profiles beside each other: what each field of Config is in them.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::tools {

inline constexpr std::array<std::string_view, 4> profile_names = {"default", "rfc", "linux",
                                                                  "freebsd"};

struct ProfileRow {
  std::string field;                  ///< as in core/stack/config_fields.hpp
  std::array<std::string, 4> values;  ///< as a world's file writes them; profile_names' order
  bool differs() const;
};

/// A row for each field and each choice of Config, in the order of config_fields.hpp.
std::vector<ProfileRow> profile_rows();

/// A table for people, as wide as `width` (0: any); or only the rows that differ.
std::string profiles_text(const std::vector<ProfileRow>& rows, bool only_differing,
                          std::size_t width);
/// {"fields": {NAME: {"default": VALUE, ...}}}, in order.
std::string profiles_json(const std::vector<ProfileRow>& rows, bool only_differing);

}  // namespace lockstep::tools
