// Adds up the counters of stacks, lanes and fault rules.
#include "sim/swarm/tally.hpp"

#include "core/stack/statistics.hpp"
#include "sim/kernel/kernel.hpp"

namespace lockstep::sim {
namespace {

template <std::size_t N>
void add_all(std::array<std::uint64_t, N>& to, const std::array<std::uint64_t, N>& from) {
  for (std::size_t i = 0; i < N; ++i) {
    to[i] += from[i];
  }
}

std::uint64_t& of(std::array<std::uint64_t, fault_kind_count>& faults, FaultKind kind) {
  return faults[static_cast<std::uint32_t>(kind)];
}

}  // namespace

void Tally::add(const Tally& other) {
  add_all(transitions, other.transitions);
  add_all(timers, other.timers);
  add_all(drops, other.drops);
  add_all(link_drops, other.link_drops);
  add_all(faults, other.faults);
  seeds += other.seeds;
  failed += other.failed;
  frames += other.frames;
  connections += other.connections;
  bytes_read += other.bytes_read;
  virtual_ms += other.virtual_ms;
  fingerprint += other.fingerprint;
}

void Tally::add(const Kernel& kernel) {
  for (std::uint32_t i = 0; i < kernel.host_count(); ++i) {
    Host const& host = kernel.host({i});
    Statistics const& statistics = host.stack().statistics();
    add_all(transitions, statistics.tcp.transitions_taken);
    add_all(timers, statistics.tcp.timers_fired);
    for (std::uint32_t drop = 0; drop < drop_count; ++drop) {
      drops[drop] += statistics.drops.of(static_cast<Drop>(drop));
    }
    of(faults, FaultKind::stall) += host.state().stalled_turns;
    for (const HostFaultSpec& spec : kernel.world().host_faults) {
      bool const full = spec.host == HostIndex{i} && std::holds_alternative<RingFull>(spec.fault);
      of(faults, FaultKind::ring_full) += full ? host.state().blocked_turns : 0;
    }
  }
  for (std::uint32_t i = 0; i < kernel.bus().lane_count(); ++i) {
    Lane const& lane = kernel.bus().lane({i});
    add_all(link_drops, lane.counters().drops);
    for (const Rule& rule : lane.rules()) {
      of(faults, rule.kind()) += rule.applied();
    }
  }
  for (const Flow& flow : kernel.ledger().flows()) {
    bytes_read += flow.end(Side::opener).read + flow.end(Side::acceptor).read;
  }
  connections += kernel.ledger().flows().size();
  frames += kernel.frames_sent();
  virtual_ms += kernel.now().ns / 1'000'000;
}

}  // namespace lockstep::sim
