// Plays a script to another TCP: a device of conformance/devices, in virtual time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conformance/devices/peer.hpp"
#include "conformance/replay/flow.hpp"
#include "conformance/replay/replay.hpp"
#include "conformance/replay/script.hpp"

namespace lockstep::conformance {

/// A packet of a play.
struct PlayedPacket {
  Instant at;  ///< since the beginning of the play
  bool from_device = false;
  std::vector<std::byte> bytes;  ///< from the IP header on
};

/// What another TCP did in place of the captured device.
struct DevicePlay {
  Endpoint device, peer;  ///< as played
  std::vector<PlayedPacket> packets;
  std::vector<std::string> notes;
  std::string cannot_tell;  ///< why it could not be played; empty if it was
};

/// Creates the device in profile `default`, or `rfc` if it has no other, and plays the whole
/// script. The peer's segments come when they did in the capture, or when what they answer was
/// sent. Stops where the device does not send what a segment answers; a note says where. Throws
/// DeviceFault.
DevicePlay play_on(DevicePeer& device, const Script& script);

/// The play as a flow of a capture that was recorded at the device. `number`: of the last packet
/// before it; afterwards, of its last packet.
Flow flow_of(const DevicePlay& play, std::uint64_t& number);

/// The verdict on what the device sent in a play, by a replay of the play with our TCP in place of
/// the device. `flow`: of flow_of(), normalised.
Replayed judge_play(const DevicePlay& play, const Flow& flow);

}  // namespace lockstep::conformance
