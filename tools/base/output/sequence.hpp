// Sequence diagrams: who sent what to whom, in the order of time, as an SVG within a page.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace lockstep::tools {

/// One line of the diagram. Where `from` is `to`, it is a remark beside that lane.
struct SequenceStep {
  std::string time;
  std::size_t from = 0;  ///< indices of lanes
  std::size_t to = 0;
  std::string label;
  bool marked = false;  ///< where it went wrong
};

/// The diagram, for tools/base/output/page.hpp, which has its style. At least two lanes.
std::string sequence_svg(const std::vector<std::string>& lanes,
                         const std::vector<SequenceStep>& steps);

}  // namespace lockstep::tools
