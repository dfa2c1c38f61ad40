// What a checker reports: which checker, when, where, what, and the two numbers that disagree.
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

// `what` is a string literal; it determines what the two numbers mean.
struct Finding {
  CheckerKind checker = CheckerKind::stream;
  Instant at;  // simulation time
  Name where;  // a host, a link or an application
  std::string_view what;
  std::uint64_t expected = 0;
  std::uint64_t found = 0;
};

// Findings with the same checker, place and `what`: the first kept_max of them, and their count.
struct FindingGroup {
  static constexpr std::uint32_t kept_max = 5;

  std::vector<Finding> first;
  std::uint64_t count = 0;

  bool takes(const Finding& finding) const {
    return first[0].checker == finding.checker && first[0].where == finding.where &&
           first[0].what == finding.what;
  }
};

// The findings of a run in groups, in the order in which each group began, and their total count.
// All checkers of a run share one list.
class Findings {
 public:
  static constexpr std::uint32_t groups_max = 32;

  // `times`: how many occurrences this call reports.
  void add(const Finding& finding, std::uint64_t times = 1) {
    count_ += times;
    FindingGroup* const group = group_of(finding);
    if (group == nullptr) {
      return;
    }
    group->count += times;
    if (group->first.size() < FindingGroup::kept_max) {
      group->first.push_back(finding);
    }
  }

  bool empty() const { return count_ == 0; }
  std::uint64_t count() const { return count_; }
  const std::vector<FindingGroup>& groups() const { return groups_; }
  // The kept findings of all groups, group by group.
  std::vector<Finding> kept() const {
    std::vector<Finding> all;
    for (const FindingGroup& group : groups_) {
      all.insert(all.end(), group.first.begin(), group.first.end());
    }
    return all;
  }

 private:
  FindingGroup* group_of(const Finding& finding) {
    for (FindingGroup& group : groups_) {
      if (group.takes(finding)) {
        return &group;
      }
    }
    if (groups_.size() == groups_max) {
      return nullptr;
    }
    return &groups_.emplace_back();
  }

  std::vector<FindingGroup> groups_;
  std::uint64_t count_ = 0;
};

}  // namespace lockstep::sim
