// Finds the citations of requirements in code, tests and scenarios.
#include "conformance/requirements/citations.hpp"

#include <fmt/core.h>
#include "tools/base/output/toml.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <optional>
#include <sstream>

#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

namespace fs = std::filesystem;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_id_letter(char c) {
  return is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-';
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
    text.remove_suffix(1);
  }
  return text;
}

/// Removes an id such as 9293:MUST-1 from the front of `text`; empty if there is none.
std::string_view take_id(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && is_digit(text[end])) {
    ++end;
  }
  const std::size_t colon = end;
  if (colon == 0 || colon == text.size() || text[colon] != ':') {
    return {};
  }
  ++end;
  while (end < text.size() && is_id_letter(text[end])) {
    ++end;
  }
  if (end == colon + 1) {
    return {};
  }
  const std::string_view id = text.substr(0, end);
  text.remove_prefix(end);
  return id;
}

/// The ids at the front of a line, separated by commas.
std::vector<std::string_view> ids_at_front(std::string_view text) {
  std::vector<std::string_view> ids;
  while (true) {
    const std::string_view id = take_id(text);
    if (id.empty()) {
      return ids;
    }
    ids.push_back(id);
    text = trim(text);
    if (text.empty() || text.front() != ',') {
      return ids;
    }
    text = trim(text.substr(1));
  }
}

/// The parts of "rfc9293#3.4".
struct Target {
  int rfc = 0;
  std::string section;
};

std::optional<Target> parse_target(std::string_view text) {
  if (!text.starts_with("rfc")) {
    return std::nullopt;
  }
  text.remove_prefix(3);
  Target target;
  std::size_t digits = 0;
  while (digits < text.size() && digits < 5 && is_digit(text[digits])) {
    target.rfc = target.rfc * 10 + (text[digits] - '0');
    ++digits;
  }
  if (digits == 0 || digits >= text.size() || text[digits] != '#') {
    return std::nullopt;
  }
  target.section = std::string(trim(text.substr(digits + 1)));
  return target.section.empty() ? std::nullopt : std::optional(target);
}

/// Section names compare case-insensitively, with blanks as hyphens: "Packet Reception".
std::string canonical_section(std::string_view section) {
  std::string name;
  for (const char c : section) {
    name += c == ' ' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

/// True if the row's section is the cited one, or one of the two contains the other.
bool in_section(const Requirement& row, const Target& target) {
  const std::string a = canonical_section(row.section);
  const std::string b = canonical_section(target.section);
  return row.rfc == target.rfc && (a == b || a.starts_with(b + ".") || b.starts_with(a + "."));
}

/// How well the ids of a line match the targets above it.
enum class Fit { nothing, rfc, section };

Fit fit_of(const Requirement& row, const std::vector<Target>& targets) {
  Fit best = Fit::nothing;
  for (const Target& target : targets) {
    const Fit fit = in_section(row, target) ? Fit::section
                    : row.rfc == target.rfc ? Fit::rfc
                                            : Fit::nothing;
    best = std::max(best, fit);
  }
  return best;
}

/// True for a file that GoogleTest or pytest runs: x_test.cpp, test_x.py, x_test.py.
bool runs_tests(std::string_view file) {
  const std::string_view name = file.substr(file.rfind('/') + 1);  // npos + 1 is 0
  return name.find("_test.") != std::string_view::npos ||
         (name.starts_with("test_") && name.ends_with(".py"));
}

/// The kind of a citation in this file without a type. An oracle, like a helper of tests, proves
/// nothing itself: the test that uses it does.
Proof proof_of_file(std::string_view file) {
  const bool room_of_proofs = file.starts_with("conformance/") || file.starts_with("pcaps/");
  if (file.ends_with(".pkt")) {
    return Proof::script;
  }
  if (runs_tests(file)) {
    return Proof::test;
  }
  return room_of_proofs || file.starts_with("sim/checkers/") ||
                 file.starts_with("tools/verbs/lint/")
             ? Proof::judge
             : Proof::code;
}

/// Assigns citations the names of their tests: a GoogleTest test or a Python function. A citation
/// is inside its test, or above it with only comments, attributes and other citations in between.
class TestNames {
 public:
  /// Call this for each line, before its citations are added to `found`.
  void see(std::string_view line, std::vector<Citation>& found) {
    const std::string_view text = trim(line);
    column_ = line.find_first_not_of(' ');
    if (text.empty()) {
      return;
    }
    const std::string name = name_in(text);
    if (!name.empty()) {
      for (const std::size_t place : waiting_) {
        found[place].name = name;
      }
      waiting_.clear();
      inside_ = name;
      column_of_test_ = column_;
      return;
    }
    const bool between = text.front() == '#' || text.front() == '@' || text.starts_with("//");
    if (!between && column_ <= column_of_test_) {
      inside_.clear();
    }
    if (!between && !in_attribute_) {
      waiting_.clear();
    }
    in_attribute_ = text.front() == '@' ? !text.ends_with(")") : in_attribute_ && text != ")";
  }

  /// Call this after the last line passed to see() has added to `found`.
  void cited(std::vector<Citation>& found) {
    if (!inside_.empty() && column_ > column_of_test_) {
      found.back().name = inside_;
    } else {
      waiting_.push_back(found.size() - 1);
    }
  }

 private:
  /// "Suite.Name" or "test_name" if the line begins a test; otherwise empty.
  static std::string name_in(std::string_view text) {
    if (text.starts_with("def test_")) {
      return std::string(text.substr(4, text.find('(') - 4));
    }
    const std::size_t open = text.find('(');
    const std::size_t comma = text.find(',');
    const std::size_t end = text.find(')');
    if (end == std::string_view::npos || comma > end || open > comma) {
      return {};
    }
    const std::string_view macro = text.substr(0, open);
    if (macro != "TEST" && macro != "TEST_F" && macro != "TEST_P" && macro != "TYPED_TEST") {
      return {};
    }
    return fmt::format("{}.{}", trim(text.substr(open + 1, comma - open - 1)),
                       trim(text.substr(comma + 1, end - comma - 1)));
  }

  std::string inside_;
  std::size_t column_ = 0;  // of the last line passed to see()
  std::size_t column_of_test_ = 0;
  bool in_attribute_ = false;         // within a Python decorator of several lines
  std::vector<std::size_t> waiting_;  // citations above a test that is still to come
};

/// Scans one file line by line. A block is the consecutive lines of one citation.
class Scanner {
 public:
  Scanner(std::string_view file, const Catalogue& catalogue, Citations& out)
      : file_(file), catalogue_(catalogue), out_(out) {
    const bool hash = file.ends_with(".py") || file.ends_with(".toml") || file.ends_with(".pkt");
    target_mark_ = hash ? "#= " : "//= ";
    text_mark_ = hash ? "## " : "//# ";
    proof_ = proof_of_file(file);
  }

  void line(std::string_view whole) {
    ++line_;
    const std::string_view text = trim(whole);
    names_.see(whole, out_.found);
    if (text.starts_with(target_mark_)) {
      target(trim(text.substr(target_mark_.size())));
    } else if (text.starts_with(text_mark_)) {
      words(trim(text.substr(text_mark_.size())));
    } else {
      close();
    }
  }

  /// Ends the block; a block without a requirement is a problem.
  void close() {
    if (!targets_.empty() && !has_ids_) {
      problem(start_,
              "a citation without its requirement: the line below must be the text mark, "
              "an id such as 9293:MUST-1, and a few words");
    }
    targets_.clear();
    has_ids_ = false;
    says_test_ = false;
  }

 private:
  void problem(int line, const std::string& message) {
    out_.problems.push_back({file_, line, message});
  }

  void target(std::string_view text) {
    if (text.starts_with("type=")) {
      says_test_ = text == "type=test";
      if (!says_test_) {
        problem(line_, fmt::format("unknown '{}'; only type=test is known", text));
      }
      return;
    }
    if (has_ids_) {
      close();  // the next citation follows directly
    }
    const std::optional<Target> parsed = parse_target(text);
    if (!parsed) {
      problem(line_, fmt::format("'{}' is not a citation; expected rfcN#SECTION", text));
      return;
    }
    if (targets_.empty()) {
      start_ = line_;
    }
    targets_.push_back(*parsed);
  }

  void words(std::string_view text) {
    const std::vector<std::string_view> ids = ids_at_front(text);
    if (targets_.empty()) {
      if (!ids.empty()) {
        problem(line_, fmt::format("{} is cited without a line rfcN#SECTION above", ids.front()));
      }
      return;
    }
    if (ids.empty()) {
      if (!has_ids_) {
        problem(line_, "expected the id of a requirement first, such as 9293:MUST-1");
        has_ids_ = true;  // one problem per block
      }
      return;  // a continuation of the line above
    }
    has_ids_ = true;
    cite(ids);
  }

  void cite(const std::vector<std::string_view>& ids) {
    Fit best = Fit::nothing;
    const Requirement* first = nullptr;
    for (const std::string_view id : ids) {
      const Requirement* row = catalogue_.find(id);
      if (row == nullptr) {
        problem(line_, fmt::format("{} is not a requirement in conformance/requirements; see there "
                                   "for the ids of its RFC",
                                   id));
        continue;
      }
      first = first == nullptr ? row : first;
      best = std::max(best, fit_of(*row, targets_));
      const bool proves = proof_ == Proof::test || proof_ == Proof::script;
      out_.found.push_back(
          {row->id, says_test_ && !proves ? Proof::test : proof_, file_, line_, ""});
      names_.cited(out_.found);
    }
    if (first != nullptr && best != Fit::section) {
      std::vector<Problem>& list = best == Fit::nothing ? out_.problems : out_.notes;
      list.push_back(
          {file_, line_,
           fmt::format("{} is in section {} of RFC {}, not in rfc{}#{}", first->id, first->section,
                       first->rfc, targets_.front().rfc, targets_.front().section)});
    }
  }

  std::string file_;
  const Catalogue& catalogue_;
  Citations& out_;
  std::string_view target_mark_;
  std::string_view text_mark_;
  Proof proof_ = Proof::code;  // of the file, unless the block overrides it
  TestNames names_;
  int line_ = 0;
  int start_ = 0;                // first line of the block
  std::vector<Target> targets_;  // of the block; empty: no block is open
  bool has_ids_ = false;
  bool says_test_ = false;
};

std::string read_file(const fs::path& path, const std::string& name) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) {
    throw Failure(ExitCode::environment, fmt::format("{}: cannot be read", name));
  }
  return text.str();
}

/// The files to scan, relative to the root, sorted so that the report does not depend on the file
/// system.
std::vector<std::string> files_below(const fs::path& root) {
  constexpr std::array folders = {"core", "sim", "hw", "pcaps", "conformance", "tools"};
  std::vector<std::string> files;
  for (const char* folder : folders) {
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder, error)) {
      const std::string extension = entry.path().extension().string();
      const bool wanted = extension == ".cpp" || extension == ".hpp" || extension == ".py" ||
                          extension == ".toml" || extension == ".pkt";
      const std::string name = entry.path().lexically_relative(root).generic_string();
      if (wanted && entry.is_regular_file() && !name.starts_with("conformance/requirements/")) {
        files.push_back(name);
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

void take_scenario_id(const toml::node& node, std::string_view file, const Catalogue& catalogue,
                      bool proves, Citations& out) {
  const int line = static_cast<int>(node.source().begin.line);
  const toml::value<std::string>* id = node.as_string();
  if (id == nullptr || catalogue.find(id->get()) == nullptr) {
    out.problems.push_back(
        {std::string(file), line,
         fmt::format("{} is not a requirement in conformance/requirements; see there for the ids",
                     id == nullptr ? "this" : id->get())});
  } else if (proves) {
    out.found.push_back({id->get(), Proof::scenario, std::string(file), line, ""});
  }
}

}  // namespace

void scan_text(std::string_view file, std::string_view text, const Catalogue& catalogue,
               Citations& out) {
  Scanner scanner(file, catalogue, out);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    scanner.line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  scanner.close();
}

void scan_scenario(std::string_view file, std::string_view text, const Catalogue& catalogue,
                   Citations& out) {
  toml::table document;
  try {
    document = toml::parse(text);
  } catch (const toml::parse_error& error) {
    out.problems.push_back({std::string(file), static_cast<int>(error.source().begin.line),
                            std::string(error.description())});
    return;
  } catch (const TomlGaveUp& error) {
    out.problems.push_back({std::string(file), 1, error.what()});
    return;
  }
  if (const toml::array* shows = document["shows"].as_array(); shows != nullptr) {
    for (const toml::node& id : *shows) {
      take_scenario_id(id, file, catalogue, true, out);
    }
  }
  if (const toml::array* twins = document["twin"].as_array(); twins != nullptr) {
    for (const toml::node& twin : *twins) {
      const toml::table* table = twin.as_table();
      const toml::node* clause = table == nullptr ? nullptr : table->get("clause");
      if (clause != nullptr) {
        take_scenario_id(*clause, file, catalogue, false, out);
      }
    }
  }
}

Citations scan_tree(const fs::path& root, const Catalogue& catalogue) {
  Citations out;
  for (const std::string& file : files_below(root)) {
    const std::string text = read_file(root / file, file);
    if (file.starts_with("pcaps/") && file.ends_with("/scenario.toml")) {
      scan_scenario(file, text, catalogue, out);
    } else {
      scan_text(file, text, catalogue, out);
    }
  }
  return out;
}

}  // namespace lockstep::tools
