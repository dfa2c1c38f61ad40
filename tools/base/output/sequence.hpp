// Sequence diagrams as SVG within a page: packets between lanes in order of time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lockstep::tools {

/// A row of the diagram. If `from` equals `to`, it is a remark beside that lane.
struct SequenceStep {
  std::string time;
  std::size_t from = 0;  ///< indices of lanes
  std::size_t to = 0;
  std::string label;
  bool marked = false;  ///< where the test failed
};

/// The diagram. tools/base/output/page.hpp has its style. At least two lanes.
std::string sequence_svg(const std::vector<std::string>& lanes,
                         const std::vector<SequenceStep>& steps);

}  // namespace lockstep::tools
