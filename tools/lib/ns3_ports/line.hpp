// Two nodes of ns-3 on a channel without delay: a port of our stack at one end, at the other
// whoever plays the wire.
#pragma once

#include <ns3/net-device.h>
#include <ns3/packet.h>
#include <ns3/ptr.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/stack/config.hpp"
#include "sim/ns3/port.hpp"
#include "sim/ns3/stack.hpp"

namespace lockstep::tools {

/// Frames of both link types. ns-3's time is set by advance() alone; all lines that are there at
/// once share it, and with the last of them ns-3's world ends.
class Ns3Line {
 public:
  /// Link, MTU, MAC and burst of `config` count.
  explicit Ns3Line(const Config& config);
  ~Ns3Line();
  Ns3Line(const Ns3Line&) = delete;
  Ns3Line& operator=(const Ns3Line&) = delete;

  /// Lets all happen up to `now`, which is not before the last.
  void advance(Instant now);
  /// A frame arrives at this instant; false: the stack's end had no room for it.
  bool arrive(std::span<const std::byte> frame);
  /// What has left the stack's end, in order; a port that was stopped has room again.
  std::vector<std::vector<std::byte>> take();

  ns3::LockstepStack::Port& port() { return *port_; }

 private:
  bool mute(ns3::Ptr<ns3::NetDevice>, ns3::Ptr<const ns3::Packet>, std::uint16_t,
            const ns3::Address&);
  bool left(ns3::Ptr<ns3::NetDevice>, ns3::Ptr<const ns3::Packet> packet, std::uint16_t protocol,
            const ns3::Address& from, const ns3::Address& to, ns3::NetDevice::PacketType);
  void settle();

  bool ethernet_;
  ns3::Ptr<ns3::NetDevice> far_;
  ns3::Ptr<ns3::LockstepStack> stack_;
  ns3::LockstepStack::Port* port_ = nullptr;
  std::uint64_t left_count_ = 0;
  std::vector<std::vector<std::byte>> kept_;
};

}  // namespace lockstep::tools
