// Tables for people: columns as wide as what is in them, rows folded to the terminal's width.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lockstep::tools {

/// Columns of the terminal that standard output goes to; 0 where it goes elsewhere.
std::size_t terminal_columns();

class TextTable {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::right;
  };
  /// A last column to the left may hold text of any length.
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// One cell a column.
  void add(std::vector<std::string> cells);
  /// One line a row where `width` is 0 or suffices. Else a row goes on below itself, indented, and
  /// the text of a last column is broken between words.
  std::string text(std::size_t width) const;

 private:
  /// Where a column stands: on which line of its row, from where, how wide.
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
