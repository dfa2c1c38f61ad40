// RFC rules that anyone can check from the wire: what a host may say, given what it has heard.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/checkers/finding.hpp"
#include "sim/checkers/heard_text.hpp"
#include "sim/checkers/segment_view.hpp"
#include "sim/kernel/observer.hpp"
#include "sim/kernel/world.hpp"

namespace lockstep::sim {

// What one host has said to and heard from one remote endpoint at one local endpoint. Rules are
// judged by the loosest reading of what was heard: every valid segment that reached the host
// counts, forged ones too, as the host may have believed it.
struct Conversation {
  static constexpr std::uint32_t openings_max = 8;

  // One SYN that was heard: where its sequence numbers begin, and how far they have been heard.
  struct Opening {
    Sequence irs;
    Sequence heard;
    Bytes mss;
    bool scaled = false;  // it names a window scale
    WindowScale scale;
    bool sack = false;    // it permits selective acknowledgments
    Bytes window{};       // the largest that it offers
  };

  FourTuple tuple;
  HostIndex host;
  std::array<Opening, openings_max> openings{};
  std::uint32_t opening_count = 0;
  bool many_answers = false;   // SYN-ACKs of several numbers were sent: nothing is said of it
  bool openings_lost = false;  // more SYNs than can be remembered: nothing is said of ACKs

  bool begun = false;   // this host has sent a SYN
  Sequence iss;
  Sequence sent;        // the end of all that was sent
  Sequence former;      // `sent` of the incarnation before, which TIME-WAIT may still speak for
  bool has_former = false;
  bool has_edge = false;
  Sequence edge;        // the furthest right edge that was heard
  Sequence latest;      // the highest SEG.SEQ heard with it: SND.WL1 at most
  Bytes widest;         // the largest window heard
  bool scaled = false;  // our SYN names a window scale
  WindowScale scale;
  bool offered = false;
  Sequence own_edge;    // the furthest right edge that was said
  Sequence last_ack;
  bool fin_sent = false;
  Sequence fin_end;
  bool sack = false;    // our SYN permits selective acknowledgments
  HeardText text;       // of the only peer's SYN there was
  std::uint64_t heard_segments = 0;
  std::uint64_t pure_acks = 0;
};

class RfcChecker : public Observer {
 public:
  // Both outlive the checker.
  RfcChecker(const World& world, Findings& findings) : world_(world), findings_(findings) {}

  void sent(const Kernel& kernel, const FrameNote& note) override;
  void delivered(const Kernel& kernel, const FrameNote& note) override;

  // The rules themselves, for segments as they were read from the wire.
  struct Heard {
    HostIndex host;
    Instant at;
    const SegmentView& view;
  };
  void judge_sent(const Heard& said);
  void judge_heard(const Heard& heard);

 private:
  Conversation& conversation(HostIndex host, const FourTuple& tuple);
  std::uint32_t place_of(HostIndex host, const FourTuple& tuple) const;
  void grow();
  void report(const Heard& said, std::string_view what, std::uint64_t expected,
              std::uint64_t found);
  void open(Conversation& c, const wire::Segment& syn);
  void begin(Conversation& c, const wire::Segment& segment);
  void judge_flags(const Heard& said);
  void judge_text(const Heard& said, Conversation& c);
  void judge_limits(const Heard& said, const Conversation& c);
  void judge_ack(const Heard& said, const Conversation& c);
  void judge_blocks(const Heard& said, const Conversation& c);
  void judge_edge(const Heard& said, Conversation& c);

  World const& world_;
  Findings& findings_;
  std::vector<Conversation> conversations_;
  std::vector<std::uint32_t> places_;  // an open-addressed table of numbers plus one
};

}  // namespace lockstep::sim
