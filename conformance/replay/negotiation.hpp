// What the two SYNs of a flow negotiated.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "conformance/replay/flow.hpp"

namespace lockstep::conformance {

/// What the two SYNs negotiated.
struct Negotiated {
  bool syn[2] = {false, false};  // [0] the device's, [1] the peer's
  std::optional<unsigned> shift[2];
  bool selective[2] = {false, false};
  bool stamps[2] = {false, false};
  bool fast_open = false;  // SYN data was acknowledged, whatever the option
  std::optional<std::vector<std::byte>> cookie[2];  // Fast Open cookie; empty if one is requested
  bool cookie_answered[2] = {false, false};         // its SYN-ACK has the Fast Open option
  bool text_taken[2] = {false, false};              // its SYN-ACK acknowledges SYN data
  bool ecn_asked[2] = {false, false};               // by an ECN-setup SYN
  bool ecn_answered[2] = {false, false};            // by an ECN-setup SYN-ACK
  bool multipath[2] = {false, false};               // MPTCP
  std::uint32_t mss[2] = {536, 536};

  /// Whether both sides negotiated ECN (RFC 3168, 6.1.1).
  bool speaks_ecn() const {
    return (ecn_asked[0] && ecn_answered[1]) || (ecn_asked[1] && ecn_answered[0]);
  }
  bool scaled() const { return shift[0] && shift[1]; }
  unsigned shift_of(int side) const { return scaled() ? std::min(*shift[side], 14u) : 0; }
};

/// Reads the negotiation from the flow's SYNs; `device` has index 0.
Negotiated negotiation(const Flow& flow, const Endpoint& device);

}  // namespace lockstep::conformance
