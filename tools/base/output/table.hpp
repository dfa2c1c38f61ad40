// Text tables with columns as wide as their content, and rows folded to the terminal's width.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lockstep::tools {

/// The width of the terminal on standard output; 0 if that is not a terminal.
std::size_t terminal_columns();

class TextTable {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::right;
  };
  /// A last column that is aligned left may hold text of any length.
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// One cell for each column.
  void add(std::vector<std::string> cells);
  /// One line for each row if `width` is 0 or large enough. Otherwise rows continue on indented
  /// lines, and the text of the last column is wrapped between words.
  std::string text(std::size_t width) const;

 private:
  /// The place of a column: the line within its row, the offset and the width.
  struct Place {
    std::size_t line = 0;
    std::size_t begin = 0;
    std::size_t width = 0;
  };
  bool is_text(std::size_t column) const {
    return column + 1 == columns_.size() && columns_[column].align == Align::left;
  }
  std::vector<Place> placed(std::size_t width) const;
  std::string row_text(const std::vector<std::string>& cells,
                       const std::vector<Place>& places) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace lockstep::tools
