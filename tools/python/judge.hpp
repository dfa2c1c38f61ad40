// A checker beside one stack: it sees every packet in both directions and reports violations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/stack/config.hpp"
#include "core/units/time.hpp"
#include "sim/checkers/referee/referee.hpp"
#include "sim/checkers/segment_view.hpp"

namespace lockstep::tools::python {

/// A violation by the stack.
struct Wrong {
  Instant at;
  std::string rule;  ///< the rule's name
  std::string words;
  std::uint64_t expected = 0;
  std::uint64_t found = 0;
};

/// Judges one stack; its peers may send anything.
class Judge {
 public:
  explicit Judge(const Config& config);

  void arrived(Instant at, std::span<const std::byte> packet);
  void left(Instant at, std::span<const std::byte> packet);
  /// All violations so far, in order.
  std::vector<Wrong> found() const;

 private:
  LinkType link_;
  Bytes mtu_;
  sim::referee::Allowances may_;
  sim::OptionReading reading_;
  sim::referee::Violations violations_;
  sim::referee::Referee referee_;
  std::vector<Wrong> unreadable_;
};

}  // namespace lockstep::tools::python
