// Shows a script's packets to the referee, which judges what the tested side sends from the
// packets alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "conformance/script/settings.hpp"
#include "sim/checkers/referee/referee.hpp"
#include "sim/checkers/segment_view.hpp"

namespace lockstep::conformance::script {

/// A rule that a packet of the tested side certainly violates.
struct Broken {
  std::uint64_t packet = 0;  ///< its number in the order shown, from 1
  Instant at;
  std::string_view rule;
  std::string clause;  ///< a clause and its summary
  std::string expected, found;
};

/// The peer is a script and may send anything: its packets are not judged.
class Witness {
 public:
  /// `ours`: the stack is ours, so that what it never does is a violation, too.
  explicit Witness(const Plan& plan, bool ours = true);

  /// Call these in the order in which the packets passed.
  void left(Instant at, std::span<const std::byte> packet);
  void came(Instant at, std::span<const std::byte> packet);
  /// Call once, after the last packet: the first rule that was violated.
  std::optional<Broken> verdict();

 private:
  std::uint64_t shown_ = 0;
  bool ours_;
  IpAddress local_;
  sim::referee::Allowances own_;
  sim::OptionReading reading_;
  sim::referee::Violations violations_;
  sim::referee::Referee referee_;
  std::optional<Broken> unreadable_;
};

}  // namespace lockstep::conformance::script
