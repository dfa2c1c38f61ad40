// Runs cells in several processes: the median over each cell's seeds.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tools/verbs/matrix/cells.hpp"

namespace lockstep::tools {

/// One line of the table: kilobits per second, medians over the seeds.
struct CellResult {
  Cell cell;
  std::uint32_t on = 0;
  std::uint32_t off = 0;
  bool operator==(const CellResult&) const = default;
};

struct MatrixWork {
  std::vector<Cell> cells;
  std::uint32_t jobs = 1;
  PortKind port;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;  ///< may be empty
};

/// Results in the order of `work.cells`, the same for any number of jobs. Throws Failure if a
/// process cannot be started or dies.
std::vector<CellResult> measure(const MatrixWork& work);

}  // namespace lockstep::tools
