// The verb `matrix`: the table of the reorder matrix, its gates, and what has changed in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/verbs/matrix/measure.hpp"

namespace lockstep::tools {

/// The whole file. `results` are in the order of matrix_cells(), some may be missing.
std::string table_text(const std::vector<CellResult>& results);

/// Reads what table_text() wrote; `path` is for the message. Throws Failure (bad input) for a line
/// that names no cell, or one twice.
std::vector<CellResult> parse_table(std::string_view text, const std::string& path);

/// `fresh` in place of what `table` says of the same cells; in the order of matrix_cells().
std::vector<CellResult> merged(const std::vector<CellResult>& table,
                               const std::vector<CellResult>& fresh);

/// Which gates `fresh` misses, a line each; cells without reordering are looked up in `all`.
std::vector<std::string> missed_gates(const std::vector<CellResult>& fresh,
                                      const std::vector<CellResult>& all);

struct MatrixOptions {
  std::string table = "tools/verbs/matrix/reorder_matrix.txt";
  bool sixth = false;
  bool lossless = false;                           ///< only the cells in which nothing is lost
  std::string driver = std::string(usual_port());  ///< what both ends stand on
  std::int32_t slice = -1;  ///< one controller, rate and round trip: so manyth 20 cells
  bool write = false;       ///< put what was measured into the table
  bool slices = false;      ///< only print how many slices there are
  std::string json;         ///< where to write the report as JSON too; empty: nowhere
  std::uint32_t jobs = 1;
};

/// {"cells": [{"name", "on", "off", "table": {"on", "off"} or null}], "missed": [line]}: kilobits a
/// second of `fresh`, what the table `old` says of the same cell, and missed_gates().
std::string matrix_json(const std::vector<CellResult>& fresh, const std::vector<CellResult>& old,
                        const std::vector<std::string>& missed);

/// Cells of one slice.
inline constexpr std::uint32_t slice_cells = 20;

/// 0: all gates hold and the table says the same; 1: not so. Throws Failure for the user's errors.
int run_matrix_verb(const MatrixOptions& options);

}  // namespace lockstep::tools
