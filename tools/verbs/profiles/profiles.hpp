// The four profiles side by side: the value of each field of Config.
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
  std::string field;  ///< as in core/stack/config_fields.hpp
  std::array<std::string, 4>
      values;  ///< in the notation of world files, in the order of profile_names
  bool differs() const;
};

/// One row for each field and each choice of Config, in the order of config_fields.hpp.
std::vector<ProfileRow> profile_rows();

/// A text table of at most `width` columns (0: any width); optionally only the rows that differ.
std::string profiles_text(const std::vector<ProfileRow>& rows, bool only_differing,
                          std::size_t width);
/// {"fields": {NAME: {"default": VALUE, ...}}}, in order.
std::string profiles_json(const std::vector<ProfileRow>& rows, bool only_differing);

/// Two profiles side by side: the fields in which they differ, with the source of each value, by
/// core/stack/README.md. `left` and `right` are places in profile_names.
std::string profiles_diff_text(const std::vector<ProfileRow>& rows, std::size_t left,
                               std::size_t right);
/// {"profiles": [NAME, NAME], "fields": {NAME: {NAME: VALUE, NAME: VALUE, "source": TEXT}, ...}}.
std::string profiles_diff_json(const std::vector<ProfileRow>& rows, std::size_t left,
                               std::size_t right);
/// Why a field has its values; empty: there is no such field.
std::string reason_of(std::string_view field);

}  // namespace lockstep::tools
