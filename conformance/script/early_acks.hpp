// ACKs of a device that come sooner than a script of ours expects.
#pragma once

#include <cstdint>
#include <map>

#include "conformance/script/flow.hpp"
#include "conformance/script/packet.hpp"

namespace lockstep::conformance::script {

/// RFC 1122 4.2.3.2 says only how late an ACK may be, so another stack may acknowledge sooner than
/// ours: such an ACK counts for the expected one, or is not counted. By the remote port.
class EarlyAcks {
 public:
  /// Whether a sent packet only acknowledges new data, after the handshake.
  bool is_early(const Live& live) const {
    auto const acked = acked_.find(live.destination.port.value);
    return live.readable && !live.is_icmp && live.length == 0 && live.flags == flag_ack &&
           acked != acked_.end() && static_cast<std::int32_t>(live.ack - acked->second) > 0;
  }
  /// For each packet that the script has expected.
  void note(const Live& live) {
    if (live.readable && !live.is_icmp && (live.flags & flag_ack) != 0) {
      acked_[live.destination.port.value] = live.ack;
    }
  }
  /// For each early ACK.
  void take(const Live& live) {
    note(live);
    early_[live.destination.port.value] = live.ack;
  }
  /// Whether a script's packet is an ACK alone.
  static bool is_alone(const Packet& packet) {
    return !packet.is_icmp && packet.tcp.sequence.length == 0 && packet.tcp.flags == flag_ack;
  }
  /// Whether such an ACK, expected of this connection, was the last one taken.
  bool came(const Packet& packet, const Flow& flow) const {
    auto const found = early_.find(flow.remote.port.value);
    return is_alone(packet) && found != early_.end() && packet.tcp.ack &&
           flow.peer_to_live(*packet.tcp.ack) == found->second;
  }

 private:
  static constexpr std::uint16_t flag_ack = 0x10;

  std::map<std::uint16_t, std::uint32_t> acked_, early_;
};

}  // namespace lockstep::conformance::script
