// Feeds the packets of one stack to its checker.
#include "tools/python/judge.hpp"

#include "sim/checkers/rfc.hpp"
#include "sim/checkers/segment_view.hpp"

namespace lockstep::tools::python {

using sim::FrameContent;
using sim::SegmentView;

Judge::Judge(const Config& config)
    : link_(config.link),
      mtu_(config.mtu),
      may_(sim::allowances_of(config)),
      reading_(config.tcp.options_lenient ? sim::OptionReading::lenient
                                          : sim::OptionReading::strict),
      violations_(sim::host_terms(config).violations_max),
      referee_(sim::host_terms(config), violations_) {}

void Judge::arrived(Instant at, std::span<const std::byte> packet) {
  SegmentView view;
  if (sim::read_frame(link_, packet, view, reading_) == FrameContent::tcp) {
    referee_.see(sim::sighting_of(view, at));
  }
}

void Judge::left(Instant at, std::span<const std::byte> packet) {
  SegmentView view;
  FrameContent const content = sim::read_frame(link_, packet, view);
  if (content == FrameContent::malformed) {
    unreadable_.push_back(
        {at, "unreadable", "a packet was sent that no peer can parse", 0, packet.size()});
  }
  if (content != FrameContent::tcp) {
    return;
  }
  if (view.packet_bytes > mtu_.count) {
    unreadable_.push_back(
        {at, "too-large", "a packet is larger than the link's MTU", mtu_.count, view.packet_bytes});
  }
  referee_.see_own(sim::sighting_of(view, at), may_);
}

std::vector<Wrong> Judge::found() const {
  std::vector<Wrong> out = unreadable_;
  for (sim::referee::Violation const& violation : violations_.kept()) {
    if (violation.certainty() == sim::referee::Certainty::certain) {
      auto const& text = text_of(violation.rule);
      out.push_back({violation.at, std::string(text.name), std::string(text.words),
                     violation.numbers.expected, violation.numbers.found});
    }
  }
  return out;
}

}  // namespace lockstep::tools::python
