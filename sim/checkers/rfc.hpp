// RFC rules that anyone can check from the wire, at every host: a referee beside each of them.
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

// What the wire does not show of a host with this configuration.
referee::Allowances allowances_of(const Config& config);
// What is asked of a referee that sees each packet of a host with this configuration as the host
// does, among peers who may forge and alter.
referee::Terms host_terms(const Config& config);
// As long as what `view` was read from.
referee::Sighting sighting_of(const SegmentView& view, Instant at);

// What a host says is judged by what has reached it: every valid segment, forged ones too, as the
// host may have believed it. Only what is certain is a finding.
class RfcChecker : public Observer {
 public:
  // Both outlive the checker.
  RfcChecker(const World& world, Findings& findings);

  void sent(const Kernel& kernel, const FrameNote& note) override;
  void delivered(const Kernel& kernel, const FrameNote& note) override;

  // The rules themselves, for segments as they were read from the wire.
  struct Heard {
    HostIndex host;
    Instant at;
    const SegmentView& view;
    bool unseen = false;  // the host's NIC has lost frames that it had been given to send
  };
  void judge_sent(const Heard& said);
  void judge_heard(const Heard& heard);

 private:
  // What one host says and hears.
  struct Bench {
    referee::Violations violations;
    referee::Referee judge;
    std::uint32_t told = 0;  // of the violations
    std::uint64_t dropped = 0;
    std::array<std::uint64_t, referee::rule_count> counted{};  // of those

    explicit Bench(const referee::Terms& terms)
        : violations(terms.violations_max), judge(terms, violations) {}
  };

  void report(HostIndex host, const Finding& finding, std::uint64_t times = 1);
  void tell(HostIndex host, Instant at);
  void tell_counted(HostIndex host, Instant at);

  World const& world_;
  Findings& findings_;
  std::vector<std::unique_ptr<Bench>> benches_;  // one a host
};

}  // namespace lockstep::sim
