// Stream integrity: an application reads exactly the octets that its peer wrote.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/checkers/alteration.hpp"
#include "sim/checkers/finding.hpp"
#include "sim/kernel/ledger.hpp"
#include "sim/kernel/observer.hpp"

namespace lockstep::sim {

// Keeps a copy of what is written until it has been read, so the check depends neither on a payload
// pattern nor on the models. Data from a peer outside this world (`foreign`) cannot be compared.
class StreamChecker final : public Observer {
 public:
  // If `alteration` is nullptr, every difference is a finding. Both outlive the checker.
  explicit StreamChecker(Findings& findings, const AlterationWatch* alteration = nullptr)
      : findings_(findings), alteration_(alteration) {}

  void wrote(const Kernel& kernel, const StreamNote& note) override;
  void read(const Kernel& kernel, const StreamNote& note) override;
  void ended(const Kernel& kernel) override;
  // If both ends finished cleanly, all that was written must have been read.
  void judge_end(const Kernel& kernel, const Flow& flow);

 private:
  struct Direction {
    std::vector<std::byte> kept;  // written octets from stream offset `begin` on
    std::uint64_t begin = 0;
    std::uint64_t read = 0;
    bool wrong = false;

    std::uint64_t written() const { return begin + kept.size(); }
    void let_go_of_read();
  };
  Direction& direction(const Flow& flow, Side writer);
  void report(const StreamNote& note, std::string_view what, std::uint64_t expected,
              std::uint64_t found);

  Findings& findings_;
  const AlterationWatch* alteration_;
  std::vector<std::array<Direction, 2>> flows_;  // by flow number and writer's side
};

}  // namespace lockstep::sim
