// Runs a referee at every host, which checks the RFC rules that are visible on the wire.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/checkers/finding.hpp"
#include "sim/checkers/referee/referee.hpp"
#include "sim/checkers/segment_view.hpp"
#include "sim/kernel/observer.hpp"
#include "sim/kernel/world.hpp"

namespace lockstep::sim {

// What a host with this configuration may do that the wire does not show.
referee::Allowances allowances_of(const Config& config);
// Terms for a referee at a host with this configuration: it sees every packet that the host sends
// and receives, and peers may forge and alter packets.
referee::Terms host_terms(const Config& config);
// The result is valid as long as the bytes that `view` was read from.
referee::Sighting sighting_of(const SegmentView& view, Instant at);

// all: every connection. sampled: one of eight, chosen by their addresses and ports.
enum class Checks : std::uint8_t { all, sampled, off };

// Judges the segments that a host sends against the segments that arrived there, including valid
// forged ones, which the host may have accepted. Only certain violations become findings.
class RfcChecker : public Observer {
 public:
  // Both outlive the checker.
  RfcChecker(const World& world, Findings& findings, Checks checks = Checks::all);

  void sent(const Kernel& kernel, const FrameNote& note) override;
  void delivered(const Kernel& kernel, const FrameNote& note) override;

  // One segment at a host, as read from the wire.
  struct SegmentSeen {
    HostIndex host;
    Instant at;
    const SegmentView& view;
    bool unseen = false;  // the host's NIC has lost frames that it was to send
  };
  void judge_sent(const SegmentSeen& said);
  void judge_arrived(const SegmentSeen& heard);

 private:
  // The referee of one host and what it has reported.
  struct Bench {
    referee::Violations violations;
    referee::Referee judge;
    std::uint32_t reported = 0;  // kept violations that were reported
    std::uint64_t dropped = 0;   // violations not kept, at the last report
    std::array<std::uint64_t, referee::rule_count> counted{};  // by rule: those reported

    explicit Bench(const referee::Terms& terms)
        : violations(terms.violations_max), judge(terms, violations) {}
  };

  bool judges(const SegmentView& view) const;
  void report(HostIndex host, const Finding& finding, std::uint64_t times = 1);
  void tell(HostIndex host, Instant at);
  void tell_counted(HostIndex host, Instant at);

  World const& world_;
  Findings& findings_;
  Checks checks_;
  std::vector<std::unique_ptr<Bench>> benches_;  // by host
};

}  // namespace lockstep::sim
