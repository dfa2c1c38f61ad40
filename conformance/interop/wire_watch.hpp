// What the packets of a device tell about its connections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>

#include "core/units/address.hpp"
#include "core/units/sequence.hpp"
#include "core/units/time.hpp"
#include "core/wire/tcp.hpp"

namespace lockstep::conformance {

/// A device's connections as its own packets and those that arrive show them. A device does not say
/// which peer a connection that it accepted has; the order in which handshakes end does.
class WireWatch {
 public:
  struct Connection {
    FourTuple tuple;  ///< the device's end first
    bool opens = false;
    Sequence opener_iss;         ///< of the side that opened it
    Sequence iss, una, nxt;      ///< of what the device sends
    std::uint64_t acked = 0;     ///< octets after its SYN; a FIN counts as one
    std::uint64_t segments = 0;  ///< that the device sent
    std::uint64_t retransmissions = 0;
    bool known = false;      ///< the device has sent a segment: `una` and `nxt` are valid
    bool handshake = false;  ///< its SYN is acknowledged
  };

  /// An IP packet that the device sent. Others than TCP segments are ignored. Returns the
  /// connection if this is its first SYN, and the device opens it; else nothing.
  std::optional<FourTuple> sent(std::span<const std::byte> packet);
  /// An IP packet that arrives. Returns the connection that it belongs to, if it is a TCP segment.
  std::optional<FourTuple> arrives(std::span<const std::byte> packet);

  /// The next peer whose handshake with a listener of this port has ended, in order; none: nobody.
  std::optional<FourTuple> next_accepted(Port port);
  /// nullptr: no segment of it was seen.
  const Connection* find(const FourTuple& tuple) const;

 private:
  struct Order {
    bool operator()(const FourTuple& a, const FourTuple& b) const;
  };

  void acknowledge(Connection& c, Sequence number);

  std::map<FourTuple, Connection, Order> connections_;
  std::map<std::uint16_t, std::deque<FourTuple>> accepted_;
};

}  // namespace lockstep::conformance
