// Reads frames and passes their segments to the referee.
#include "conformance/interop/judge.hpp"

#include <cstddef>

#include "sim/checkers/rfc.hpp"

namespace lockstep::conformance {
namespace {

sim::referee::Terms deployed_terms() {
  sim::referee::Terms out = sim::host_terms({});
  out.deployed = true;
  out.mss_least = sim::referee::Terms{}.mss_least;
  out.connections_max = 1'024;
  return out;
}

bool is_fragment(std::span<const std::byte> frame) {
  const auto octet = [&](std::size_t at) {
    return at < frame.size() ? std::to_integer<unsigned>(frame[at]) : 0U;
  };
  unsigned const type = octet(12) << 8 | octet(13);
  bool const four = type == 0x0800 && ((octet(20) << 8 | octet(21)) & 0x3fff) != 0;
  bool const six = type == 0x86dd && octet(20) == 44;
  return four || six;
}

}  // namespace

DeviceJudge::DeviceJudge()
    : violations_(deployed_terms().violations_max), referee_(deployed_terms(), violations_) {}

void DeviceJudge::see(const sim::FrameNote& note, bool own) {
  fragmented_ = fragmented_ || (own && is_fragment(note.bytes));
  sim::SegmentView view;
  auto const content = sim::read_frame(LinkType::ethernet, note.bytes, view);
  if (own && content == sim::FrameContent::malformed) {
    malformed_at_ = earlier(malformed_at_, note.at);
  }
  if (content != sim::FrameContent::tcp) {
    return;
  }
  auto const said = sim::sighting_of(view, note.at);
  if (own) {
    referee_.see_own(said, {});
  } else {
    referee_.see(said);
  }
}

}  // namespace lockstep::conformance
