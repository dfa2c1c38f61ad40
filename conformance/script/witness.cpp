// Shows a script's packets to the referee, which judges what the tested side sends from the
// packets alone.
#include "conformance/script/witness.hpp"

#include <fmt/core.h>

#include "sim/checkers/rfc.hpp"

namespace lockstep::conformance::script {
namespace {

using sim::FrameContent;
using sim::SegmentView;

namespace referee = sim::referee;

/// Every packet that reaches the stack is seen, in order and unchanged; inferred findings do not
/// count.
referee::Terms terms_of_script(const Config& config) {
  referee::Terms out;
  out.whole = true;
  out.at_host = true;
  out.likely = false;
  out.others = false;
  out.mss_least = most(out.mss_least, config.tcp.mss_least);
  out.connections_max = 1'024;
  out.violations_max = 64;
  out.kept_octets_max = 65'536;
  return out;
}

std::string number_text(std::string_view name, std::uint64_t number) {
  return name.empty() ? "" : fmt::format("{} {}", name, number);
}

}  // namespace

Witness::Witness(const Plan& plan, bool ours)
    : ours_(ours),
      local_(plan.local),
      own_(sim::allowances_of(plan.config)),
      reading_(plan.config.tcp.options_lenient ? sim::OptionReading::lenient
                                               : sim::OptionReading::strict),
      violations_(terms_of_script(plan.config).violations_max),
      referee_(terms_of_script(plan.config), violations_) {}

void Witness::left(Instant at, std::span<const std::byte> packet) {
  ++shown_;
  SegmentView view;
  FrameContent const content = sim::read_frame(LinkType::ip, packet, view);
  if (content == FrameContent::tcp) {
    referee::Sighting said = sim::sighting_of(view, at);
    said.packet = shown_;
    if (ours_) {
      referee_.see_own(said, own_);
    } else {
      referee_.see(said);
    }
  } else if (content == FrameContent::malformed && !unreadable_) {
    unreadable_ =
        Broken{shown_,     at,
               "readable", "9293:MUST-2: a checksum or a length is wrong, so no peer accepts it",
               "",         ""};
  }
}

void Witness::came(Instant at, std::span<const std::byte> packet) {
  ++shown_;
  SegmentView view;
  if (sim::read_frame(LinkType::ip, packet, view, reading_) == FrameContent::tcp) {
    referee::Sighting said = sim::sighting_of(view, at);
    said.packet = shown_;
    referee_.see(said);
  }
}

std::optional<Broken> Witness::verdict() {
  referee_.end();
  for (referee::Violation const& violation : violations_.kept()) {
    bool const ours = violation.speaker.address == local_;
    bool const earlier = !unreadable_ || violation.packet < unreadable_->packet;
    if (ours && earlier && violation.certainty() == referee::Certainty::certain) {
      referee::RuleText const& text = referee::text_of(violation.rule);
      return Broken{violation.packet,
                    violation.at,
                    text.name,
                    fmt::format("{}: {}", text.clause, text.words),
                    number_text(text.expected, violation.numbers.expected),
                    number_text(text.found, violation.numbers.found)};
    }
  }
  return unreadable_;
}

}  // namespace lockstep::conformance::script
