// Fills in the TCP checksum that a kernel has left out of a frame for its own machine.
#pragma once

#include <cstddef>
#include <span>

#include "core/stack/config.hpp"

namespace lockstep::journal {

/// For captures: a frame that the driver vouched for may hold only a part of its checksum. A frame
/// that is no whole TCP segment, or whose checksum holds already, stays as it is.
void mend_checksum(std::span<std::byte> frame, LinkType link);

}  // namespace lockstep::journal
