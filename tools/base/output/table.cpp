// Measures the cells, places the columns, and wraps what does not fit.
#include "tools/base/output/table.hpp"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "core/units/check.hpp"

namespace lockstep::tools {
namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t indent = 4;
constexpr std::size_t text_least = 28;  // the least width of a last column of long text

std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0;
  while (!text.empty()) {
    std::size_t const end = std::min(text.find(' '), text.size());
    longest = std::max(longest, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return longest;
}

/// The text in lines of at most `width`, wrapped at spaces; a longer word stays whole.
std::vector<std::string> broken(std::string_view text, std::size_t width) {
  std::vector<std::string> out;
  while (text.size() > width) {
    std::size_t space = text.rfind(' ', width);
    if (space == std::string_view::npos || space == 0) {
      space = text.find(' ', 1);
    }
    if (space == std::string_view::npos) {
      break;
    }
    out.emplace_back(text.substr(0, space));
    text.remove_prefix(space + 1);
  }
  out.emplace_back(text);
  return out;
}

void put_at(std::string& line, std::size_t begin, std::string_view text) {
  line.resize(std::max(line.size(), begin), ' ');
  line += text;
}

}  // namespace

std::size_t terminal_columns() {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) {
    return 0;
  }
  return size.ws_col;
}

void TextTable::add(std::vector<std::string> cells) {
  CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::vector<TextTable::Place> TextTable::placed(std::size_t width) const {
  std::vector<Place> places(columns_.size());
  Place next;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t wide = columns_[i].title.size();
    std::size_t word = wide;
    for (const auto& cells : rows_) {
      wide = std::max(wide, cells[i].size());
      word = std::max(word, longest_word(cells[i]));
    }
    std::size_t const least = std::min(text_least, width - std::min(width, indent));
    std::size_t const needed = is_text(i) ? std::min(wide, std::max(word, least)) : wide;
    if (width != 0 && next.begin != 0 && next.begin + needed > width) {
      next = {next.line + 1, indent, 0};
    }
    std::size_t const room = width > next.begin ? width - next.begin : 0;
    next.width = is_text(i) && width != 0 ? std::min(wide, std::max(word, room)) : wide;
    places[i] = next;
    next.begin += next.width + gap;
  }
  return places;
}

std::string TextTable::row_text(const std::vector<std::string>& cells,
                                const std::vector<Place>& places) const {
  std::vector<std::string> lines(places.back().line + 1);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    Place const at = places[i];
    auto const pieces = is_text(i) ? broken(cells[i], at.width) : std::vector{cells[i]};
    lines.resize(std::max(lines.size(), at.line + pieces.size()));
    bool const left = columns_[i].align == Align::left;
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      put_at(lines[at.line + p], at.begin + (left ? 0 : at.width - pieces[p].size()), pieces[p]);
    }
  }
  std::string out;
  for (std::string& line : lines) {
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string TextTable::text(std::size_t width) const {
  std::vector<Place> const places = placed(width);
  std::vector<std::string> titles;
  for (const Column& column : columns_) {
    titles.push_back(column.title);
  }
  std::string out = row_text(titles, places);
  for (const auto& cells : rows_) {
    out += row_text(cells, places);
  }
  return out;
}

}  // namespace lockstep::tools
