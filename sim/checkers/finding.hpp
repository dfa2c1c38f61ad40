// What checkers find wrong with a run: which one, when, where, and the two numbers that disagree.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/units/time.hpp"
#include "sim/bus/name.hpp"

namespace lockstep::sim {

enum class CheckerKind : std::uint8_t { stream, conservation, invariants, liveness, rfc };

inline constexpr std::uint32_t checker_count = 5;

constexpr std::string_view name_of(CheckerKind kind) {
  constexpr std::array<std::string_view, checker_count> names{"stream", "conservation",
                                                              "invariants", "liveness", "rfc"};
  return names[static_cast<std::uint32_t>(kind)];
}

// `what` is a literal. The meaning of the two numbers follows from it.
struct Finding {
  CheckerKind checker = CheckerKind::stream;
  Instant at;  // the world's
  Name where;  // a host, a link or an application
  std::string_view what;
  std::uint64_t expected = 0;
  std::uint64_t found = 0;
};

// The first findings of a run, and how many there were. One list serves all checkers of a run.
class Findings {
 public:
  static constexpr std::uint32_t kept_max = 32;

  void add(const Finding& finding) {
    ++count_;
    if (kept_.size() < kept_max) {
      kept_.push_back(finding);
    }
  }

  bool empty() const { return count_ == 0; }
  std::uint64_t count() const { return count_; }
  const std::vector<Finding>& kept() const { return kept_; }

 private:
  std::vector<Finding> kept_;
  std::uint64_t count_ = 0;
};

}  // namespace lockstep::sim
