// Draws sequence diagrams: a lane for each side, an arrow for each packet.
#include "tools/base/output/sequence.hpp"

#include <fmt/format.h>

#include "tools/base/output/xml.hpp"

namespace lockstep::tools {
namespace {

constexpr std::size_t first_lane = 190;
constexpr std::size_t between_lanes = 300;
constexpr std::size_t first_row = 58;
constexpr std::size_t between_rows = 34;

std::size_t lane_x(std::size_t lane) { return first_lane + lane * between_lanes; }

std::string arrow_svg(const SequenceStep& step, std::size_t y) {
  const std::size_t begin = lane_x(step.from);
  const std::size_t end = lane_x(step.to);
  const bool rightward = end > begin;
  const std::size_t back = rightward ? end - 8 : end + 8;
  const char* const look = step.marked ? "arrow marked" : "arrow";
  return fmt::format(
      "<line class=\"{0}\" x1=\"{1}\" y1=\"{2}\" x2=\"{3}\" y2=\"{2}\"/>"
      "<path class=\"{0}\" d=\"M{4} {5} L{3} {2} L{4} {6}\"/>"
      "<text class=\"{7}\" x=\"{8}\" y=\"{9}\" text-anchor=\"middle\">{10}</text>",
      look, begin, y, end, back, y - 4, y + 4, step.marked ? "marked" : "", (begin + end) / 2,
      y - 5, xml_escaped(step.label));
}

std::string remark_svg(const SequenceStep& step, std::size_t y, bool last_lane) {
  const std::size_t x = lane_x(step.from);
  return fmt::format(
      "<circle class=\"dot\" cx=\"{}\" cy=\"{}\" r=\"3\"/>"
      "<text class=\"{}\" x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>",
      x, y, step.marked ? "marked" : "remark", last_lane ? x - 8 : x + 8, y + 4,
      last_lane ? "end" : "start", xml_escaped(step.label));
}

}  // namespace

std::string sequence_svg(const std::vector<std::string>& lanes,
                         const std::vector<SequenceStep>& steps) {
  const std::size_t width = lane_x(lanes.size() - 1) + 110;
  const std::size_t height = first_row + steps.size() * between_rows;
  std::string out = fmt::format(
      "<svg class=\"sequence\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" "
      "viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"sequence diagram\">",
      width, height, width, height);
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    out += fmt::format(
        "<text class=\"lane\" x=\"{0}\" y=\"18\" text-anchor=\"middle\">{1}</text>"
        "<line class=\"lane\" x1=\"{0}\" y1=\"26\" x2=\"{0}\" y2=\"{2}\"/>",
        lane_x(lane), xml_escaped(lanes[lane]), height - 6);
  }
  std::size_t y = first_row;
  for (const SequenceStep& step : steps) {
    out += fmt::format("<text class=\"time\" x=\"6\" y=\"{}\">{}</text>", y + 4,
                       xml_escaped(step.time));
    out += step.from == step.to ? remark_svg(step, y, step.from + 1 == lanes.size())
                                : arrow_svg(step, y);
    y += between_rows;
  }
  return out + "</svg>\n";
}

}  // namespace lockstep::tools
