// What a range of seeds has exercised: counts of each transition, drop reason, fault and timer.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/tcp/counters.hpp"
#include "core/units/drop.hpp"
#include "sim/bus/link_drop.hpp"
#include "sim/faults/rule.hpp"

namespace lockstep::sim {

class Kernel;

// Plain numbers, so that it can be in memory shared by processes. Sums, so the order does not
// matter.
struct Tally {
  std::array<std::uint64_t, tcp::transitions.size()> transitions{};
  std::array<std::uint64_t, tcp::timer_kind_count> timers{};
  std::array<std::uint64_t, drop_count> drops{};
  std::array<std::uint64_t, link_drop_count> link_drops{};
  std::array<std::uint64_t, fault_kind_count> faults{};
  std::uint64_t seeds = 0;
  std::uint64_t failed = 0;
  std::uint64_t frames = 0;
  std::uint64_t connections = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t virtual_ms = 0;
  std::uint64_t fingerprint = 0;  // of all seeds and the fingerprints of their runs

  void add(const Tally& other);
  // Adds everything that a run has exercised.
  void add(const Kernel& kernel);
};

// Names that can never be counted, with the reason. Checked: none of these may have a count.
struct Unreachable {
  std::string_view name;
  std::string_view why;
};
inline constexpr std::array unreachable{
    Unreachable{"frame_too_short", "a switch is between every station and host"},
    Unreachable{"tcp_closed_silent", "closed_silent is not drawn; freebsd/blackhole.pkt has it"},
    Unreachable{"wrong_shard", "hosts are drawn with one shard; spread_test has more"},
};

// Why that name cannot be required; empty: it can.
constexpr std::string_view why_unreachable(std::string_view name) {
  for (const Unreachable& each : unreachable) {
    if (each.name == name) {
      return each.why;
    }
  }
  return {};
}

// Calls visit(kind, name, count) for every row of the table, in a fixed order. For a transition,
// `name` is the state it leaves and `to` the state it enters.
struct TallyRow {
  std::string_view kind;
  std::string_view name;
  std::string_view to;
  std::uint64_t count = 0;
};
template <class Visit>
void visit_rows(const Tally& tally, Visit&& visit) {
  for (std::uint32_t i = 0; i < tcp::transitions.size(); ++i) {
    visit(TallyRow{"transition", tcp::name_of(tcp::transitions[i].from),
                   tcp::name_of(tcp::transitions[i].to), tally.transitions[i]});
  }
  for (std::uint32_t i = 0; i < tcp::timer_kind_count; ++i) {
    visit(TallyRow{"timer", name_of(static_cast<tcp::TimerKind>(i)), {}, tally.timers[i]});
  }
  for (std::uint32_t i = 0; i < drop_count; ++i) {
    visit(TallyRow{"drop", name_of(static_cast<Drop>(i)), {}, tally.drops[i]});
  }
  for (std::uint32_t i = 0; i < link_drop_count; ++i) {
    visit(TallyRow{"link drop", name_of(static_cast<LinkDrop>(i)), {}, tally.link_drops[i]});
  }
  for (std::uint32_t i = 0; i < fault_kind_count; ++i) {
    visit(TallyRow{"fault", name_of(static_cast<FaultKind>(i)), {}, tally.faults[i]});
  }
}

}  // namespace lockstep::sim
