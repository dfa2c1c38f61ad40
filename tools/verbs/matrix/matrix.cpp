// Measures the selected cells, checks the limits, and compares with the table or writes it.
#include "tools/verbs/matrix/matrix.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tools/base/output/atomic_file.hpp"
#include "tools/base/output/json.hpp"
#include "tools/base/output/progress.hpp"
#include "tools/base/process/failure.hpp"

namespace lockstep::tools {
namespace {

constexpr std::string_view head =
    "# Kilobits per second that the receiver reads, median of seeds 1 to 9: RACK (RFC 8985) on,\n"
    "# RACK off, on in percent of off, and on in percent of the same cell without reordering.\n"
    "# Made by `tools/evidence reorder-matrix --write`; README.md in this folder explains it.\n"
    "# name   rate    rtt   loss reorder         on     off   on/off  reordered/not\n";

const CellResult* find(const std::vector<CellResult>& in, const Cell& cell) {
  const auto at =
      std::find_if(in.begin(), in.end(), [&](const CellResult& each) { return each.cell == cell; });
  return at == in.end() ? nullptr : &*at;
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? "-" : fmt::format("{}%", (part * 100 + whole / 2) / whole);
}

const CellResult* in_order(const std::vector<CellResult>& all, Cell cell) {
  cell.reordering = Reordering::none;
  return find(all, cell);
}

std::string line_of(const CellResult& result, const std::vector<CellResult>& all) {
  bool const plain = result.cell.reordering == Reordering::none;
  const CellResult* const none = plain ? nullptr : in_order(all, result.cell);
  return fmt::format("{} {:>8} {:>7} {:>8} {:>14}", name_of(result.cell), result.on, result.off,
                     percent(result.on, result.off),
                     none == nullptr ? "-" : percent(result.on, none->on));
}

std::string whole_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) {
    throw Failure(
        ExitCode::bad_input,
        fmt::format("{}: cannot be read: name the table with --table, or --write one", path));
  }
  return text.str();
}

std::vector<Cell> chosen(const MatrixOptions& options) {
  const std::vector<Cell>& all = matrix_cells();
  std::vector<Cell> out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    bool const in_slice =
        options.slice < 0 || i / slice_cells == static_cast<std::size_t>(options.slice);
    bool const wanted = !options.lossless || all[i].loss.per_billion == 0;
    if (in_slice && wanted && (!options.sixth || of_the_sixth(all[i]))) {
      out.push_back(all[i]);
    }
  }
  if (out.empty()) {
    throw Failure(ExitCode::bad_input, fmt::format("--slice {}: the last is {}: choose one",
                                                   options.slice, all.size() / slice_cells - 1));
  }
  return out;
}

std::uint32_t number(std::string_view word, const std::string& where) {
  std::uint32_t value = 0;
  auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) {
    throw Failure(ExitCode::bad_input,
                  fmt::format("{}: expected kilobits per second, found {}: write the table anew",
                              where, word));
  }
  return value;
}

// Prints the lines that differ, old and new. Returns whether all are equal.
bool compare(const std::vector<CellResult>& old, const std::vector<CellResult>& all,
             const std::vector<CellResult>& fresh) {
  std::size_t changed = 0;
  for (const CellResult& each : fresh) {
    const CellResult* const was = find(old, each.cell);
    if (was == nullptr || !(*was == each)) {
      ++changed;
      if (was != nullptr) {
        fmt::print("-{}\n", line_of(*was, old));
      }
      fmt::print("+{}\n", line_of(each, all));
    }
  }
  fmt::print("{} of {} cells differ from the table\n", changed, fresh.size());
  return changed == 0;
}

}  // namespace

std::string table_text(const std::vector<CellResult>& results) {
  std::string out(head);
  for (const CellResult& each : results) {
    out += line_of(each, results) + "\n";
  }
  return out;
}

std::vector<CellResult> parse_table(std::string_view text, const std::string& path) {
  std::vector<CellResult> out;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (std::uint32_t count = 1; std::getline(lines, line); ++count) {
    if (line.empty() || line[0] == '#') {
      continue;
    }
    std::string const where = fmt::format("{}:{}", path, count);
    const auto& cells = matrix_cells();
    const auto cell = std::find_if(cells.begin(), cells.end(), [&](const Cell& each) {
      return line.starts_with(name_of(each));
    });
    if (cell == cells.end() || find(out, *cell) != nullptr) {
      throw Failure(
          ExitCode::bad_input,
          fmt::format("{}: not a cell of the matrix, or listed twice: write the table anew",
                      where));
    }
    std::istringstream rest(line.substr(name_of(*cell).size()));
    std::string on;
    std::string off;
    rest >> on >> off;
    out.push_back({*cell, number(on, where), number(off, where)});
  }
  return out;
}

std::vector<CellResult> merged(const std::vector<CellResult>& table,
                               const std::vector<CellResult>& fresh) {
  std::vector<CellResult> out;
  for (const Cell& cell : matrix_cells()) {
    const CellResult* const now = find(fresh, cell);
    const CellResult* const either = now == nullptr ? find(table, cell) : now;
    if (either != nullptr) {
      out.push_back(*either);
    }
  }
  return out;
}

std::vector<std::string> missed_gates(const std::vector<CellResult>& fresh,
                                      const std::vector<CellResult>& all) {
  std::vector<std::string> out;
  for (const CellResult& each : fresh) {
    Cell const& cell = each.cell;
    if (std::uint64_t{each.on} * 10 < std::uint64_t{each.off} * 9) {
      out.push_back(
          fmt::format("{}: with RACK {}, below 0.9 of {}", name_of(cell), each.on, each.off));
    }
    bool const pure = cell.loss.per_billion == 0 && cell.reordering != Reordering::none;
    const CellResult* const none = in_order(all, cell);
    if (pure && within_window(cell) && none != nullptr &&
        std::uint64_t{each.on} * 100 < none->on * expected_percent(cell)) {
      out.push_back(
          fmt::format("{}: with reordering {}, without {}", name_of(cell), each.on, none->on));
    }
  }
  return out;
}

std::string matrix_json(const std::vector<CellResult>& fresh, const std::vector<CellResult>& old,
                        const std::vector<std::string>& missed) {
  nlohmann::ordered_json cells = nlohmann::ordered_json::array();
  for (const CellResult& each : fresh) {
    nlohmann::ordered_json cell = {
        {"name", name_of(each.cell)}, {"on", each.on}, {"off", each.off}, {"table", nullptr}};
    if (const CellResult* const was = find(old, each.cell); was != nullptr) {
      cell["table"] = {{"on", was->on}, {"off", was->off}};
    }
    cells.push_back(std::move(cell));
  }
  return json_text(nlohmann::ordered_json{{"cells", std::move(cells)}, {"missed", missed}});
}

int run_matrix_verb(const MatrixOptions& options) {
  if (options.slices) {
    fmt::print("{}\n", matrix_cells().size() / slice_cells);
    return static_cast<int>(ExitCode::fine);
  }
  refuse_overwrite(options.table, options.json);
  MatrixWork work{chosen(options), options.jobs, port_kind(options.driver), {}};
  std::vector<CellResult> old;
  if (!options.write || std::filesystem::exists(options.table)) {
    old = parse_table(whole_file(options.table), options.table);
  }
  Progress bar;
  work.progress = [&](std::uint64_t done, std::uint64_t total) {
    if (bar.is_due()) {
      bar.draw(done, total, fmt::format("{} of {} runs", done, total));
    }
  };
  std::vector<CellResult> const fresh = measure(work);
  bar.clear();
  std::vector<CellResult> const all = merged(old, fresh);
  bool const same = compare(old, all, fresh);
  std::vector<std::string> const missed = missed_gates(fresh, all);
  for (const std::string& each : missed) {
    fmt::print("missed: {}\n", each);
  }
  fmt::print("{} cells, {} limits missed\n", fresh.size(), missed.size());
  if (!options.json.empty()) {
    save_file(options.json, matrix_json(fresh, old, missed));
  }
  if (options.write) {
    save_file(options.table, table_text(all));
  } else if (!same) {
    fmt::print(
        "if this change is intended, `tools/evidence reorder-matrix --write` writes the table\n");
  }
  bool const fine = missed.empty() && (same || options.write);
  return static_cast<int>(fine ? ExitCode::fine : ExitCode::finding);
}

}  // namespace lockstep::tools
