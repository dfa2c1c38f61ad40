// Strict reading of TOML tables, with the file and the line in each complaint.
#include "tools/world/table.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace lockstep::tools {

void refuse(const std::string& file, const toml::node& at, const std::string& what) {
  throw Failure(ExitCode::bad_input,
                fmt::format("{}:{}: {}", file, at.source().begin.line, what));
}

const toml::node* Table::ask(std::string_view key) {
  asked_.emplace(key);
  return table_.get(key);
}

std::string Table::text(std::string_view key, std::string_view otherwise) {
  const toml::node* const node = ask(key);
  if (node == nullptr) {
    return std::string(otherwise);
  }
  if (!node->is_string()) {
    wrong(key, "expected a text: put the value in quotes");
  }
  return node->as_string()->get();
}

std::string Table::text(std::string_view key) {
  if (ask(key) == nullptr) {
    wrong(fmt::format("{} lacks the key '{}': add it", title_, key));
  }
  return text(key, "");
}

bool Table::boolean(std::string_view key, bool otherwise) {
  const toml::node* const node = ask(key);
  if (node == nullptr) {
    return otherwise;
  }
  if (!node->is_boolean()) {
    wrong(key, "expected true or false");
  }
  return node->as_boolean()->get();
}

std::int64_t Table::signed_number(std::string_view key, std::int64_t otherwise) {
  const toml::node* const node = ask(key);
  if (node == nullptr) {
    return otherwise;
  }
  if (!node->is_integer()) {
    wrong(key, "expected a whole number without quotes");
  }
  return node->as_integer()->get();
}

std::uint64_t Table::number(std::string_view key, std::uint64_t otherwise, Range range) {
  if (!has(key)) {
    asked_.emplace(key);
    return otherwise;
  }
  const std::int64_t value = signed_number(key, 0);
  if (value < 0 || static_cast<std::uint64_t>(value) < range.least ||
      static_cast<std::uint64_t>(value) > range.most) {
    wrong(key, fmt::format("{} was found, expected a number from {} to {}", value, range.least,
                           range.most));
  }
  return static_cast<std::uint64_t>(value);
}

Table Table::table(std::string_view key, const std::string& title) {
  static const toml::table nothing;
  const toml::node* const node = ask(key);
  if (node == nullptr) {
    return Table(file_, nothing, title);
  }
  if (!node->is_table()) {
    wrong(key, "expected a table");
  }
  return Table(file_, *node->as_table(), title);
}

std::vector<Table> Table::tables(std::string_view key, const std::string& title) {
  std::vector<Table> out;
  const toml::node* const node = ask(key);
  if (node == nullptr) {
    return out;
  }
  if (!node->is_array()) {
    wrong(key, fmt::format("expected an array of tables: write [[{}]]", key));
  }
  for (const toml::node& each : *node->as_array()) {
    if (!each.is_table()) {
      wrong(key, fmt::format("expected an array of tables: write [[{}]]", key));
    }
    out.emplace_back(file_, *each.as_table(), title);
  }
  return out;
}

std::vector<std::string> Table::keys() const {
  std::vector<std::string> out;
  for (const auto& [key, value] : table_) {
    out.emplace_back(key.str());
  }
  return out;
}

void Table::end() {
  for (const auto& [key, value] : table_) {
    if (!asked_.contains(key.str())) {
      refuse(file_, value,
             fmt::format("{} has no key '{}', expected one of: {}; correct or remove it", title_,
                         key.str(), fmt::join(asked_, ", ")));
    }
  }
}

void Table::wrong(std::string_view key, const std::string& what) const {
  const toml::node* const node = table_.get(key);
  refuse(file_, node == nullptr ? static_cast<const toml::node&>(table_) : *node,
         fmt::format("'{}' of {}: {}", key, title_, what));
}

void Table::wrong(const std::string& what) const { refuse(file_, table_, what); }

toml::table parse_toml(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("{}: is a folder; expected a TOML file: name the file in it", path));
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    const bool forbidden = errno == EACCES;
    throw Failure(forbidden ? ExitCode::environment : ExitCode::bad_input,
                  fmt::format("{}: cannot be read ({}); expected a TOML file: {}", path,
                              std::strerror(errno),
                              forbidden ? "ask for the right to read it" : "check the path"));
  }
  std::ostringstream text;
  text << in.rdbuf();
  try {
    return toml::parse(text.str(), path);
  } catch (const toml::parse_error& error) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("{}:{}: not TOML: {}; expected TOML: correct this line", path,
                              error.source().begin.line, error.description()));
  }
}

}  // namespace lockstep::tools
