// Measuring by what the classifier hashes: known frames through a loopback link, at start-up.
#pragma once

#include <cstdint>
#include <string_view>

#include "hw/mpipe/setup.hpp"

namespace lockstep::hw {

// What came of the frames. Each flow is sent in both directions. Half of the flows are IPv4's, half
// IPv6's, and in each half every local end speaks with every remote one.
struct MpipeCalibration {
  static constexpr std::uint32_t local_ends = 8;
  static constexpr std::uint32_t remote_ends = 4;
  static constexpr std::uint32_t flows = 2 * local_ends * remote_ends;
  static constexpr std::uint32_t squares = 2 * (local_ends - 1) * (remote_ends - 1);
  std::uint32_t sent = 0;
  std::uint32_t returned = 0;
  std::uint32_t at_home = 0;    // came to the worker that shard_of names
  std::uint32_t as_told = 0;    // ... that their hash and the buckets name
  std::uint32_t symmetric = 0;  // flows of which both directions had the same hash
  std::uint32_t additive = 0;   // squares of flows whose hashes are sums of what each end adds
  std::uint32_t workers = 0;    // that got any
  constexpr bool complete() const { return sent != 0 && returned == sent; }
};

// How segments find their worker.
enum class MpipeSteering : std::uint8_t {
  direct,        // the classifier brings them there: connect draws ports whose replies come home
  siblings,      // it does not: who gets one hands it to the worker whose it is
  first_worker,  // nobody could: the first worker gets all, and alone has connections
};

constexpr std::string_view name_of(MpipeSteering steering) {
  switch (steering) {
    case MpipeSteering::direct:
      return "direct";
    case MpipeSteering::siblings:
      return "siblings";
    case MpipeSteering::first_worker:
      return "first_worker";
  }
  return "";
}

// The same measure, the same answer. Whether workers have queues to each other is the program's.
enum class SiblingQueues : std::uint8_t { none, some };
MpipeSteering steering_for(const MpipeCalibration& seen, SiblingQueues queues);

// Opens `loop`, loop0 to loop3, as `shape` has it, with small rings, sends and looks, and closes it
// again: nothing else may be open. Looks for each frame a bounded number of times.
MpipeTrouble calibrate(const MpipeShape& shape, const char* loop, MpipeCalibration& out);

}  // namespace lockstep::hw
