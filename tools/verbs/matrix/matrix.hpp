// The verb `matrix`: the table of the reorder matrix, its limits, and differences from it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/verbs/matrix/measure.hpp"

namespace lockstep::tools {

/// The whole file. `results` are in the order of matrix_cells(); some may be missing.
std::string table_text(const std::vector<CellResult>& results);

/// Parses the output of table_text(); `path` is for the message. Throws Failure (bad input) for a
/// line that names no cell, or a cell that was listed before.
std::vector<CellResult> parse_table(std::string_view text, const std::string& path);

/// `table` with the lines of the cells in `fresh` replaced; in the order of matrix_cells().
std::vector<CellResult> merged(const std::vector<CellResult>& table,
                               const std::vector<CellResult>& fresh);

/// The limits that `fresh` misses, one line each; cells without reordering are looked up in `all`.
std::vector<std::string> missed_gates(const std::vector<CellResult>& fresh,
                                      const std::vector<CellResult>& all);

struct MatrixOptions {
  std::string table = "tools/verbs/matrix/reorder_matrix.txt";
  bool sixth = false;
  bool lossless = false;                           ///< only the cells without loss
  std::string driver = std::string(usual_port());  ///< the port below both stacks
  std::int32_t slice = -1;  ///< number of the slice: 20 cells of one controller, rate and RTT
  bool write = false;       ///< write the results into the table
  bool slices = false;      ///< only print how many slices there are
  std::string json;         ///< file for the report as JSON; empty: none
  std::uint32_t jobs = 1;
};

/// {"cells": [{"name", "on", "off", "table": {"on", "off"} or null}], "missed": [line]}: kilobits
/// per second of `fresh`, those of the same cell in the table `old`, and missed_gates().
std::string matrix_json(const std::vector<CellResult>& fresh, const std::vector<CellResult>& old,
                        const std::vector<std::string>& missed);

/// Cells of one slice.
inline constexpr std::uint32_t slice_cells = 20;

/// Returns 0 if all limits hold and the table agrees, else 1. Throws Failure for bad options.
int run_matrix_verb(const MatrixOptions& options);

}  // namespace lockstep::tools
