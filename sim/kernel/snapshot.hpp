// The state of a whole kernel as values.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "sim/kernel/kernel.hpp"

namespace lockstep::sim {

struct HostSnapshot {
  std::vector<std::byte> stack;
  HostState state;
  std::unique_ptr<NicSnapshot> nic;  // nullptr: the host has no NIC
  std::vector<std::unique_ptr<Model>> models;
};

struct KernelSnapshot {
  Bus bus;
  Schedule schedule;
  Ledger ledger;
  std::vector<HostSnapshot> hosts;
  std::vector<std::unique_ptr<Station>> stations;
  std::vector<Instant> station_due;
  Instant now;
  std::uint64_t steps = 0;
  std::uint64_t frames_sent = 0;
  std::uint64_t frames_hash = 0;
  bool ended = false;
};

}  // namespace lockstep::sim
