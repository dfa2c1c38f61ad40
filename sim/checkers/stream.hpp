// Stream integrity: what an application reads is what the other one wrote, octet by octet.
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

// Keeps a copy of what is written until it has been read, so that it depends on no pattern and no
// model's honesty. What nobody here has written (`foreign`) cannot be compared.
class StreamChecker final : public Observer {
 public:
  // `alteration` may be nullptr: then no frame is changed unseen. Both outlive the checker.
  explicit StreamChecker(Findings& findings, const AlterationWatch* alteration = nullptr)
      : findings_(findings), alteration_(alteration) {}

  void wrote(const Kernel& kernel, const StreamNote& note) override;
  void read(const Kernel& kernel, const StreamNote& note) override;
  void ended(const Kernel& kernel) override;
  // Where both ends parted in friendship, all that was written has been read.
  void judge_end(const Kernel& kernel, const Flow& flow);

 private:
  struct Direction {
    std::vector<std::byte> kept;  // that were written, from the offset `begin` on
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
  std::vector<std::array<Direction, 2>> flows_;  // by the flow's number and the writer's side
};

}  // namespace lockstep::sim
