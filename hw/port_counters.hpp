// What a port saw by itself, whatever it stands on; the stack counts the rest.
#pragma once

#include <cerrno>
#include <cstdint>

namespace lockstep::hw {

struct PortCounters {
  std::uint64_t frames_in = 0;
  std::uint64_t frames_out = 0;
  std::uint64_t too_long = 0;   // longer than the MTU allows: lost
  std::uint64_t too_short = 0;  // without a whole header: lost
  // Descriptors, lengths and addresses of the kernel or the device that cannot be: ignored.
  std::uint64_t malformed = 0;
  std::uint64_t segmented = 0;    // several segments in one frame that cannot be taken apart: lost
  std::uint64_t taken_apart = 0;  // such of which each segment became a frame of its own
  std::uint64_t left_out = 0;     // frames whose checksum their own machine has left out: taken
  std::uint64_t missed = 0;       // frames for us that the kernel had no room for: lost
  std::uint64_t link_down = 0;    // frames of ours that the interface, being down, did not take
  std::uint64_t no_buffers = 0;   // ... for which the kernel had no memory
  std::uint64_t refused = 0;      // ... that it refused for any other reason
  std::uint64_t blocked = 0;      // frames that had to wait for room
  std::uint64_t read_errors = 0;  // reads that failed but for want of a frame
};

// A frame of ours is lost, for the reason that errno gave.
inline void count_failed_write(int error, PortCounters& counters) {
  switch (error) {
    case EIO:
    case ENETDOWN:
      ++counters.link_down;
      break;
    case ENOBUFS:
    case ENOMEM:
      ++counters.no_buffers;
      break;
    default:
      ++counters.refused;
      break;
  }
}

}  // namespace lockstep::hw
