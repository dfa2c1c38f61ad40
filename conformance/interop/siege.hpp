// A world in which an attacker attacks a device while two honest clients use it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/units/time.hpp"
#include "sim/models/attacker.hpp"

namespace lockstep::conformance {

struct SiegePlan {
  std::filesystem::path victim;  ///< as device_path() returns it
  std::filesystem::path honest;  ///< the clients' device, ours
  sim::Attack attack = sim::Attack::syn_flood;
  std::uint64_t frames = 0;  ///< of the attack; 0: none, for comparison
  std::uint64_t seed = 1;
};

struct SiegeReport {
  std::string left_out;  ///< why the victim cannot be asked; empty: it was
  std::string fault;     ///< the victim broke its interface or ended, in one line
  std::string wrong;     ///< what an honest client met, in one line; empty: nothing
  bool honest_done = false;
  Duration honest{};                            ///< until both clients had finished
  std::uint64_t frames_in = 0, bytes_in = 0;    ///< from the attacker to the victim
  std::uint64_t frames_out = 0, bytes_out = 0;  ///< to the attacker and to its forged sources
  std::uint64_t fingerprint = 0;                ///< of all frames
  std::vector<std::byte> capture;               ///< of the victim's first 20,000 frames
};

/// One client reads 1 MB in replies, another writes 500 KB, over 100 Mbit/s; the victim's own link
/// has ten times that. Runs until both have finished and the attack is over, 120 s at most. The
/// same plan gives the same report. Throws Failure if a device cannot be loaded.
SiegeReport run_siege(const SiegePlan& plan);

}  // namespace lockstep::conformance
