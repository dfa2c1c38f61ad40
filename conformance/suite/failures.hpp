// Renders a failure for a page: the packets side by side, a sequence diagram, the state.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "conformance/replay/replay.hpp"
#include "conformance/script/run.hpp"

namespace lockstep::conformance {

/// A scenario, or a twin with an unexpected verdict. `why` is one line.
std::string failure_html(const std::string& name, const std::string& why, const Replayed& replayed);
/// A script that failed or cannot be run.
std::string failure_html(const script::Ran& ran);

/// The last packets, at most `most`, of a pcapng file written by PcapngWriter.
std::string capture_svg(std::span<const std::byte> pcapng, std::size_t most);

}  // namespace lockstep::conformance
