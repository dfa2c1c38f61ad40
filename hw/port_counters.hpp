// Counters of a port, common to all drivers; the stack counts the rest.
#pragma once

#include <cerrno>
#include <cstdint>

namespace lockstep::hw {

struct PortCounters {
  std::uint64_t frames_in = 0;
  std::uint64_t frames_out = 0;
  std::uint64_t too_long = 0;   // lost: longer than the MTU allows
  std::uint64_t too_short = 0;  // lost: without a complete header
  // Ignored: impossible descriptors, lengths or addresses from the kernel or the device.
  std::uint64_t malformed = 0;
  std::uint64_t segmented = 0;    // lost: several segments in one frame that could not be split
  std::uint64_t taken_apart = 0;  // frames of several segments that were split
  std::uint64_t left_out = 0;     // accepted: the sender on this machine left the checksum out
  std::uint64_t missed = 0;       // lost: the kernel had no room for a received frame
  std::uint64_t link_down = 0;    // lost: frames to send while the interface was down
  std::uint64_t no_buffers = 0;   // ... for which the kernel had no memory
  std::uint64_t refused = 0;      // ... that the kernel refused for another reason
  std::uint64_t blocked = 0;      // frames to send that had to wait for room
  std::uint64_t read_errors = 0;  // reads that failed for a reason other than a missing frame
};

// Counts a frame that could not be sent, by errno.
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
