// A TOML table that must be read completely; a missing, invalid or unknown key gives a one-line
// error.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tools/base/output/toml.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::tools {

/// Throws Failure (bad_input) with "FILE:LINE: what, expected, mend".
[[noreturn]] void refuse(const std::string& file, const toml::node& at, const std::string& what);

/// The keys of one table; each may be read at most once. Values are strings with units, whole
/// numbers, or booleans.
class Table {
 public:
  Table(std::string file, const toml::table& table, std::string title)
      : file_(std::move(file)), table_(table), title_(std::move(title)) {}

  bool has(std::string_view key) const { return table_.contains(key); }

  /// A string; `otherwise` if the key is missing.
  std::string text(std::string_view key, std::string_view otherwise);
  /// A string whose key must be present.
  std::string text(std::string_view key);
  /// A string, a whole number or a boolean, as text.
  std::string word(std::string_view key);
  bool boolean(std::string_view key, bool otherwise);
  struct Range {
    std::uint64_t least = 0;
    std::uint64_t most = ~std::uint64_t{0};
  };
  std::uint64_t number(std::string_view key, std::uint64_t otherwise, Range range);
  std::int64_t signed_number(std::string_view key, std::int64_t otherwise);

  /// A string that `parse` converts; `expected` describes its form in the error.
  template <class T, class Parse>
  T parsed(std::string_view key, T otherwise, Parse parse, std::string_view expected) {
    if (ask(key) == nullptr) {
      return otherwise;
    }
    const std::string value = text(key);
    const auto result = parse(value);
    if (!result) {
      wrong(key, "\"" + value + "\" was found, expected " + std::string(expected));
    }
    return *result;
  }

  /// A nested table; empty if the key is missing.
  Table table(std::string_view key, const std::string& title);
  /// [[key]]: an array of tables.
  std::vector<Table> tables(std::string_view key, const std::string& title);
  std::vector<std::string> keys() const;

  /// Refuses keys that were not read, and suggests the keys that were.
  void end();
  [[noreturn]] void wrong(std::string_view key, const std::string& what) const;
  [[noreturn]] void wrong(const std::string& what) const;
  const std::string& title() const { return title_; }
  /// The path of a file that a value names: relative to the folder of the table's file.
  std::string path_beside(const std::string& name) const;
  /// Sets that folder, where errors do not name the file. Tables inside take it over.
  void set_folder(std::string folder) { folder_ = std::move(folder); }
  void set_title(std::string title) { title_ = std::move(title); }

 private:
  const toml::node* ask(std::string_view key);

  std::string file_;
  const toml::table& table_;
  std::string title_;
  std::string folder_;
  std::set<std::string, std::less<>> asked_;
};

/// Reads a file. Throws Failure: environment if it cannot be read, bad_input with file and line if
/// it is not TOML.
toml::table parse_toml(const std::string& path);
/// Parses a text; errors use `name` as the file's name.
toml::table parse_toml_text(const std::string& text, const std::string& name);

}  // namespace lockstep::tools
