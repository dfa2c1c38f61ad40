// Measures what the classifier hashes, by known frames through a loopback link at start-up.
#pragma once

#include <cstdint>
#include <string_view>

#include "hw/mpipe/setup.hpp"

namespace lockstep::hw {

// The results. Each flow is sent in both directions. Half of the flows are IPv4, half IPv6, and in
// each half every local end is combined with every remote end.
struct MpipeCalibration {
  static constexpr std::uint32_t local_ends = 8;
  static constexpr std::uint32_t remote_ends = 4;
  static constexpr std::uint32_t flows = 2 * local_ends * remote_ends;
  static constexpr std::uint32_t squares = 2 * (local_ends - 1) * (remote_ends - 1);
  std::uint32_t sent = 0;
  std::uint32_t returned = 0;
  std::uint32_t at_home = 0;    // frames that reached the worker named by shard_of
  std::uint32_t as_told = 0;    // frames that reached the worker named by their hash and the
                                // buckets
  std::uint32_t symmetric = 0;  // flows with the same hash in both directions
  std::uint32_t additive = 0;   // squares of four flows whose hashes are sums of one value for each
                                // end
  std::uint32_t workers = 0;    // workers that received any frame
  constexpr bool complete() const { return sent != 0 && returned == sent; }
};

// How segments reach their worker.
enum class MpipeSteering : std::uint8_t {
  direct,        // the classifier delivers them there; connect draws ports whose replies hash to it
  siblings,      // the receiving worker forwards them to the right one
  first_worker,  // forwarding is impossible: worker 0 gets all, and alone has connections
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

// Depends only on the measurement. `queues`: whether the program has queues between workers.
enum class SiblingQueues : std::uint8_t { none, some };
MpipeSteering steering_for(const MpipeCalibration& seen, SiblingQueues queues);

// Opens `loop` (loop0 to loop3) as `shape` specifies, with small rings; measures, and closes it.
// Nothing else may be open. Polls for each frame a bounded number of times.
MpipeTrouble calibrate(const MpipeShape& shape, const char* loop, MpipeCalibration& out);

}  // namespace lockstep::hw
