// Worlds of two devices: one connection on the simulator's bus, with its faults, judged by the
// streams and by the referee.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "conformance/interop/station.hpp"
#include "core/units/time.hpp"
#include "sim/kernel/world.hpp"

namespace lockstep::conformance {

/// The two devices, as of device_path(). `a` opens the connection in half of the worlds.
struct InteropPair {
  std::filesystem::path a, b;
};

/// Something that must not happen.
struct InteropFinding {
  /// stream: octets differ, or a connection that ends early. liveness: not complete long after the
  /// last fault. device: it broke the interface. rfc: a certain violation, seen at its sender.
  enum class Kind : std::uint8_t { stream, liveness, device, rfc };
  Kind kind = Kind::stream;
  std::string device;  ///< the name of the one that it is about
  std::string what;  ///< the same text for the same fault: a clause and its summary, or a sentence
  Instant at;        ///< world time
  std::string detail;  ///< numbers
};

std::string_view name_of(InteropFinding::Kind kind);

/// One world.
struct InteropRun {
  std::uint64_t seed = 0;
  std::string left_out;  ///< why a device cannot run it; empty: it ran
  std::vector<InteropFinding> findings;
  std::string words;  ///< what was drawn, in one line
  std::uint64_t octets = 0, frames = 0;
  Instant ended;
  std::uint64_t fingerprint = 0;   ///< of every frame and its instant
  std::vector<std::byte> capture;  ///< pcapng of both links' frames; with a finding, or if asked
};

/// What a seed decides, whatever the devices are.
struct InteropWorld {
  sim::World world;  ///< two stations, one link, its faults
  std::array<StreamPlan, 2> plans;
  std::array<std::string, 2> profiles;  ///< rfc where a device has no other
  std::uint32_t mtu = 1'500;
  bool ipv6 = false;  ///< IPv4 where one of the devices has no IPv6
  std::uint64_t device_seed = 0;
};
InteropWorld draw_interop(std::uint64_t seed);

/// Runs it. Deterministic for devices that are. Throws tools::Failure if a device cannot be loaded.
InteropRun run_interop(const InteropPair& pair, std::uint64_t seed, InteropWorld drawn,
                       bool keep_capture = false);
/// The world of the seed.
InteropRun run_interop(const InteropPair& pair, std::uint64_t seed, bool keep_capture = false);

}  // namespace lockstep::conformance
