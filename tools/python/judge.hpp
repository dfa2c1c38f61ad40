// A referee beside one stack: it sees what arrives and what leaves, and says what is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/stack/config.hpp"
#include "core/units/time.hpp"
#include "sim/checkers/referee/referee.hpp"

namespace lockstep::tools::python {

/// What the stack did that no TCP may do.
struct Wrong {
  Instant at;
  std::string rule;  ///< by name
  std::string words;
  std::uint64_t expected = 0;
  std::uint64_t found = 0;
};

/// Of one stack; the peers may forge what they like.
class Judge {
 public:
  explicit Judge(const Config& config);

  void arrived(Instant at, std::span<const std::byte> packet);
  void left(Instant at, std::span<const std::byte> packet);
  /// All that was found so far, in order.
  std::vector<Wrong> found() const;

 private:
  LinkType link_;
  Bytes mtu_;
  sim::referee::Allowances may_;
  sim::referee::Violations violations_;
  sim::referee::Referee referee_;
  std::vector<Wrong> unreadable_;
};

}  // namespace lockstep::tools::python
