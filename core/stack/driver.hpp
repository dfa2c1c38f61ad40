// The interface that a driver must have so that turn() can run on it.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

#include "core/stack/frame.hpp"

namespace lockstep {

// now():     the time of this turn; never decreases.
// receive(): the frames that arrived, at most burst_frames, lent until reclaim().
// claim():   a buffer for one frame of maximum size, or empty if none is free. Reserves nothing
//            until commit(): a second claim() returns the same buffer.
// commit():  the claimed buffer holds the frame that Egress describes; it is sent by flush() at
//            the latest.
// reclaim(): the frames of the last receive() are no longer referenced.
// flush():   the last call of a turn. Sends what was committed. Frames that the device has no
//            space for stay in the driver, in order; a later flush() sends them.
template <class D>
concept Driver = requires(D driver, const Egress& egress) {
  { driver.now() } -> std::same_as<Instant>;
  { driver.receive() } -> std::same_as<std::span<const Ingress>>;
  { driver.claim() } -> std::same_as<std::span<std::byte>>;
  { driver.commit(egress) } -> std::same_as<void>;
  { driver.reclaim() } -> std::same_as<void>;
  driver.flush();
};

}  // namespace lockstep
