// What a port must offer so that turn() can run on it.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

#include "core/stack/frame.hpp"

namespace lockstep {

// now():     the time of this turn; never runs backwards.
// receive(): the frames that arrived, at most the configured burst, lent until reclaim().
// claim():   room for one frame of the largest size, or empty where none is free; takes nothing
//            until commit(): claiming twice gives the same room.
// commit():  the claimed room holds a frame, as Egress says; it leaves at flush() at the latest.
// reclaim(): the frames of the last receive() are no longer looked at.
// flush():   the last call of a turn. What was committed leaves now; what the device has no room
//            for stays in the driver, in order, and a later flush() tries again.
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
