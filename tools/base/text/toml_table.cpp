// Strict reading of TOML tables; each error names the file and the line.
#include "tools/base/text/toml_table.hpp"
#include "tools/base/text/suggestion.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace lockstep::tools {

void refuse(const std::string& file, const toml::node& at, const std::string& what) {
  // A value that came from a setting has no line.
  auto const line = at.source().begin.line;
  throw Failure(ExitCode::bad_input, line == 0 ? fmt::format("{}: {}", file, what)
                                               : fmt::format("{}:{}: {}", file, line, what));
}

namespace {

/// Whether a string may begin after this text; elsewhere a quote is part of an invalid value.
bool may_quote(std::string_view before) {
  const std::size_t last = before.find_last_not_of(" \t\r");
  return last == before.npos || std::string_view("=[{,.\n").find(before[last]) != before.npos;
}

/// The length of the comment or string that begins at `at`; 0: none begins there.
std::size_t quoted(std::string_view text, std::size_t at) {
  const char open = text[at];
  if (open == '#') {
    return std::min(text.find('\n', at), text.size()) - at;
  }
  if ((open != '"' && open != '\'') || !may_quote(text.substr(0, at))) {
    return 0;
  }
  const bool is_long = text.substr(at, 3) == std::string(3, open);
  const std::string close(is_long ? 3 : 1, open);
  std::size_t end = at + close.size();
  while (end < text.size() && text.substr(end, close.size()) != close) {
    if (!is_long && text[end] == '\n') {
      return end - at;
    }
    end += open == '"' && text[end] == '\\' ? 2 : 1;
  }
  return std::min(end + close.size(), text.size()) - at;
}

/// The line of the first non-ASCII letter outside of quotes, which the parser cannot handle; 0:
/// there is none.
std::size_t stray_letter(std::string_view text) {
  std::size_t line = 1;
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) >= 0x80) {
      return line;
    }
    const std::string_view part = text.substr(at, std::max<std::size_t>(quoted(text, at), 1));
    line += static_cast<std::size_t>(std::count(part.begin(), part.end(), '\n'));
    at += part.size();
  }
  return 0;
}

}  // namespace

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
    wrong(key, "expected a string: put the value in quotes");
  }
  return node->as_string()->get();
}

std::string Table::text(std::string_view key) {
  if (ask(key) == nullptr) {
    wrong(fmt::format("{} lacks the key '{}': add it", title_, key));
  }
  return text(key, "");
}

std::string Table::word(std::string_view key) {
  const toml::node* const node = ask(key);
  if (node != nullptr && node->is_boolean()) {
    return node->as_boolean()->get() ? "true" : "false";
  }
  if (node != nullptr && node->is_integer()) {
    return std::to_string(node->as_integer()->get());
  }
  return text(key);
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
  Table out(file_, *node->as_table(), title);
  out.folder_ = folder_;
  return out;
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
    out.back().folder_ = folder_;
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

std::string Table::path_beside(const std::string& name) const {
  return (std::filesystem::path(folder_) / name).string();
}

void Table::end() {
  for (const auto& [key, value] : table_) {
    if (!asked_.contains(key.str())) {
      refuse(file_, value,
             fmt::format("{} has no key '{}'{}, expected one of: {}; correct or remove it", title_,
                         key.str(), suggestion(key.str(), {asked_.begin(), asked_.end()}),
                         fmt::join(asked_, ", ")));
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
    throw Failure(
        forbidden ? ExitCode::environment : ExitCode::bad_input,
        fmt::format("{}: cannot be read ({}); expected a TOML file: {}", path, std::strerror(errno),
                    forbidden ? "ask for the right to read it" : "check the path"));
  }
  std::ostringstream stream;
  stream << in.rdbuf();
  return parse_toml_text(stream.str(), path);
}

toml::table parse_toml_text(const std::string& text, const std::string& path) {
  if (const std::size_t line = stray_letter(text); line != 0) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("{}:{}: not TOML: a non-ASCII letter; expected it in quotes or "
                              "in a comment: put it there",
                              path, line));
  }
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("{}:{}: not TOML: {}; expected TOML: correct this line", path,
                              error.source().begin.line, error.description()));
  } catch (const TomlGaveUp& error) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("{}: not TOML: the parser gave up ({}); expected TOML: look for a "
                              "comment or a line's end within a [table]'s name",
                              path, error.what()));
  }
}

}  // namespace lockstep::tools
