// Two ns-3 nodes on a channel without delay: a port of our stack at one end, and at the other the
// caller, who plays the wire.
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

/// Carries frames of both link types. Only advance() sets ns-3's time; all lines that exist at once
/// share it, and the last one destroyed ends ns-3's simulation.
class Ns3Line {
 public:
  /// Uses link, MTU, MAC and burst of `config`.
  explicit Ns3Line(const Config& config);
  ~Ns3Line();
  Ns3Line(const Ns3Line&) = delete;
  Ns3Line& operator=(const Ns3Line&) = delete;

  /// Runs everything due up to `now`, which must not be before the last.
  void advance(Instant now);
  /// A frame arrives now. False: the stack's end had no room for it.
  bool arrive(std::span<const std::byte> frame);
  /// The frames that the stack's end has sent, in order. A port that was blocked has room again.
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
