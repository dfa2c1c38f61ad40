// What a clause says, where it is implemented, and what shows it.
#include "tools/verbs/clause/clause.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "tools/base/process/exec.hpp"
#include "tools/base/process/failure.hpp"
#include "tools/base/text/suggestion.hpp"

namespace lockstep::tools {
namespace {

namespace fs = std::filesystem;

bool is_equal(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

bool is_number(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(),
                                      [](unsigned char each) { return std::isdigit(each) != 0; });
}

std::string_view after_rfc(std::string_view id) { return id.substr(id.find(':') + 1); }

[[noreturn]] void refuse_clause(const std::string& word, const CoverageReport& report) {
  std::vector<std::string> known;
  for (CoverageRow const& row : report.rows) {
    std::string const& id = row.requirement->id;
    known.emplace_back(word.find(':') == std::string::npos ? after_rfc(id) : std::string_view(id));
  }
  throw Failure(ExitCode::bad_input,
                fmt::format("there is no clause '{}'{}: name one as in 9293:MUST-40, or an RFC to "
                            "list its clauses",
                            word, suggestion(word, known)));
}

/// Appends the rows that a word names.
void add_named(const std::string& word, const CoverageReport& report,
               std::vector<const CoverageRow*>& out) {
  std::size_t const before = out.size();
  std::vector<const CoverageRow*> short_ones;
  for (CoverageRow const& row : report.rows) {
    Requirement const& requirement = *row.requirement;
    if (is_equal(word, requirement.id) ||
        (is_number(word) && word == fmt::format("{}", requirement.rfc))) {
      out.push_back(&row);
    } else if (is_equal(word, after_rfc(requirement.id))) {
      short_ones.push_back(&row);
    }
  }
  if (out.size() == before && short_ones.size() > 1) {
    std::string ids;
    for (const CoverageRow* const row : short_ones) {
      ids += (ids.empty() ? "" : ", ") + row->requirement->id;
    }
    throw Failure(ExitCode::bad_input,
                  fmt::format("several RFCs have a clause '{}': choose {}", word, ids));
  }
  out.insert(out.end(), short_ones.begin(), short_ones.end());
  if (out.size() == before) {
    refuse_clause(word, report);
  }
}

void add_places(std::string& text, std::string_view kind,
                const std::vector<const Citation*>& places) {
  for (const Citation* const place : places) {
    fmt::format_to(std::back_inserter(text), "  {:<10}{}:{}{}{}\n", kind, place->file, place->line,
                   place->name.empty() ? "" : "  ", place->name);
    kind = "";
  }
}

}  // namespace

fs::path clause_root(const std::string& given) {
  if (!given.empty()) {
    return given;
  }
  fs::path const program = program_folder();
  for (fs::path const& installed : {program / ".." / "..", program / ".." / "share" / "lockstep"}) {
    std::error_code none;
    if (fs::exists(installed / "conformance/requirements/declined.toml", none)) {
      try {
        return find_root(fs::current_path());
      } catch (const Failure&) {
        return installed;
      }
    }
  }
  return find_root(fs::current_path());
}

std::vector<const CoverageRow*> clauses_named(const std::vector<std::string>& words,
                                              const CoverageReport& report) {
  std::vector<const CoverageRow*> out;
  for (std::string const& word : words) {
    add_named(word, report, out);
  }
  return out;
}

std::string clauses_text(const std::vector<const CoverageRow*>& rows, const LiveResults& live) {
  std::string text;
  for (const CoverageRow* const row : rows) {
    Requirement const& requirement = *row->requirement;
    fmt::format_to(std::back_inserter(text), "{}{} ({}, RFC {} section {})\n  {}\n",
                   text.empty() ? "" : "\n", requirement.id, requirement.level, requirement.rfc,
                   requirement.section, requirement.summary);
    add_places(text, "code", row->code);
    add_places(text, "tests", row->tests);
    add_places(text, "scripts", row->scripts);
    add_places(text, "scenarios", row->scenarios);
    add_places(text, "judges", row->judges);
    if (row->declined != nullptr) {
      fmt::format_to(std::back_inserter(text), "  {:<10}{}\n", "declined", row->declined->reason);
    }
    std::string others;
    for (const auto& [target, cells] : live.cells) {
      if (const LiveCell* const cell = live.cell(target, requirement.id)) {
        others += fmt::format("{}{} {} of {}", others.empty() ? "" : ", ", target, cell->passed,
                              cell->tests());
      }
    }
    if (!others.empty()) {
      fmt::format_to(std::back_inserter(text), "  {:<10}{}\n", "passes", others);
    }
  }
  return text;
}

}  // namespace lockstep::tools
