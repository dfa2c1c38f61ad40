// Loads the requirements and the declined ones from their TOML files.
#include "conformance/requirements/catalogue.hpp"

#include <fmt/core.h>
#include "tools/base/output/toml.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* requirements_folder = "conformance/requirements";
constexpr const char* declined_file = "conformance/requirements/declined.toml";

[[noreturn]] void bad_input(const std::string& file, int line, const std::string& message) {
  throw Failure(ExitCode::bad_input, fmt::format("{}:{}: {}", file, line, message));
}

int line_of(const toml::node& node) { return static_cast<int>(node.source().begin.line); }

toml::table parse_file(const fs::path& root, const std::string& file) {
  std::ifstream stream(root / file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) {
    throw Failure(ExitCode::environment, fmt::format("{}: cannot be read", file));
  }
  try {
    return toml::parse(text.str());
  } catch (const toml::parse_error& error) {
    bad_input(file, static_cast<int>(error.source().begin.line), std::string(error.description()));
  } catch (const TomlGaveUp& error) {
    bad_input(file, 1, error.what());
  }
}

std::string text_at(const toml::table& table, const char* key, const std::string& file) {
  const auto* value = table.get_as<std::string>(key);
  if (value == nullptr || value->get().empty()) {
    bad_input(file, line_of(table), fmt::format("expected a string under the key '{}'", key));
  }
  return value->get();
}

void add_row(Catalogue& catalogue, const toml::node& node, int rfc, const std::string& file) {
  const toml::table* table = node.as_table();
  if (table == nullptr) {
    bad_input(file, line_of(node), "expected a table with id, section, level and summary");
  }
  Requirement row{text_at(*table, "id", file), rfc, text_at(*table, "section", file),
                  text_at(*table, "level", file), text_at(*table, "summary", file)};
  if (!row.id.starts_with(fmt::format("{}:", rfc))) {
    bad_input(file, line_of(node), fmt::format("id {} does not begin with {}:", row.id, rfc));
  }
  if (!catalogue.index_of.emplace(row.id, catalogue.rows.size()).second) {
    bad_input(file, line_of(node), fmt::format("id {} is a duplicate; keep one row", row.id));
  }
  catalogue.rows.push_back(std::move(row));
}

void add_file(Catalogue& catalogue, const fs::path& root, const std::string& file) {
  const toml::table document = parse_file(root, file);
  const auto* number = document.get_as<std::int64_t>("rfc");
  const toml::array* rows = document["requirements"].as_array();
  if (number == nullptr || rows == nullptr) {
    bad_input(file, 1, "expected the keys rfc, title and requirements; rerun convert.py");
  }
  const int rfc = static_cast<int>(number->get());
  catalogue.titles[rfc] = text_at(document, "title", file);
  for (const toml::node& node : *rows) {
    add_row(catalogue, node, rfc, file);
  }
}

void decline(Catalogue& catalogue, const toml::node& id, const std::string& reason) {
  const toml::value<std::string>* text = id.as_string();
  if (text == nullptr) {
    bad_input(declined_file, line_of(id), "expected the id of a requirement as a string");
  }
  if (catalogue.find(text->get()) == nullptr) {
    catalogue.problems.push_back(
        {declined_file, line_of(id),
         fmt::format("declines {}, but no requirement has this id; correct it", text->get())});
    return;
  }
  const Declined entry{reason, declined_file, line_of(id)};
  if (!catalogue.declined.emplace(text->get(), entry).second) {
    bad_input(declined_file, line_of(id), fmt::format("{} is a duplicate", text->get()));
  }
}

void add_declined(Catalogue& catalogue, const fs::path& root) {
  const toml::table document = parse_file(root, declined_file);
  const toml::array* entries = document["declined"].as_array();
  if (entries == nullptr) {
    return;  // nothing is declined
  }
  for (const toml::node& node : *entries) {
    const toml::table* entry = node.as_table();
    if (entry == nullptr) {
      bad_input(declined_file, line_of(node), "expected [[declined]] with ids and a reason");
    }
    const std::string reason = text_at(*entry, "reason", declined_file);
    if (const toml::array* ids = (*entry)["ids"].as_array(); ids != nullptr) {
      for (const toml::node& id : *ids) {
        decline(catalogue, id, reason);
      }
    } else if (const toml::node* id = entry->get("id"); id != nullptr) {
      decline(catalogue, *id, reason);
    } else {
      bad_input(declined_file, line_of(*entry), "expected the key 'id' or 'ids'");
    }
  }
}

}  // namespace

bool Requirement::binds() const {
  return level == "MUST" || level == "MUST NOT" || level == "text";
}

bool Requirement::recommends() const {
  return level == "SHOULD" || level == "SHOULD NOT" || level == "RECOMMENDED";
}

const Requirement* Catalogue::find(std::string_view id) const {
  const auto place = index_of.find(std::string(id));
  return place == index_of.end() ? nullptr : &rows[place->second];
}

Catalogue load_catalogue(const fs::path& root) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root / requirements_folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("rfc") && name.ends_with(".toml")) {
      files.push_back(fmt::format("{}/{}", requirements_folder, name));
    }
  }
  if (error || files.empty()) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("{}/{}: no rfcNNNN.toml there; give the repository with --root",
                              root.string(), requirements_folder));
  }
  // In order of RFC numbers: rfc791 before rfc1122.
  std::sort(files.begin(), files.end(), [](const std::string& a, const std::string& b) {
    return std::make_pair(a.size(), a) < std::make_pair(b.size(), b);
  });
  Catalogue catalogue;
  for (const std::string& file : files) {
    add_file(catalogue, root, file);
  }
  for (std::size_t place = 0; place < catalogue.rows.size(); ++place) {
    catalogue.index_of[catalogue.rows[place].id] = place;
  }
  add_declined(catalogue, root);
  return catalogue;
}

fs::path find_root(const fs::path& start) {
  fs::path folder = fs::absolute(start).lexically_normal();
  while (true) {
    if (fs::exists(folder / declined_file)) {
      return folder;
    }
    if (!folder.has_relative_path()) {
      throw Failure(ExitCode::bad_input,
                    fmt::format("{}: no {} here or above; give the repository with --root",
                                fs::absolute(start).string(), declined_file));
    }
    folder = folder.parent_path();
  }
}

}  // namespace lockstep::tools
