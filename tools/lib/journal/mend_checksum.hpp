// Fills in a TCP checksum that the kernel left out of a frame between processes of one machine.
#pragma once

#include <cstddef>
#include <span>

#include "core/stack/config.hpp"

namespace lockstep::journal {

/// For captures: a frame that the driver marked as good may hold only a partial checksum. A frame
/// that is not a whole TCP segment, or whose checksum is right, is not changed.
void mend_checksum(std::span<std::byte> frame, LinkType link);

}  // namespace lockstep::journal
