// A Stack of the core on one device of a node: frames, time and turns.
#pragma once

#include <ns3/address.h>
#include <ns3/event-id.h>
#include <ns3/net-device.h>
#include <ns3/nstime.h>
#include <ns3/object.h>
#include <ns3/packet.h>
#include <ns3/ptr.h>
#include <ns3/traced-callback.h>
#include <ns3/type-id.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/stack/stack.hpp"
#include "sim/ns3/fields.hpp"
#include "sim/ns3/guest.hpp"

namespace ns3 {

class LockstepHost;
class LockstepSocket;
class TrafficControlLayer;

/// What happened between a stack and ns-3.
struct LockstepCounters {
  std::uint64_t turns = 0;
  std::uint64_t events = 0;  ///< of ns-3's scheduler, scheduled by this stack
  std::uint64_t frames_received = 0;
  std::uint64_t frames_sent = 0;
  std::uint64_t refused_by_device = 0;  ///< Send() gave false: the frame is lost
  std::uint64_t overflowed = 0;         ///< came while as many as a burst waited: lost
  std::uint64_t blocked_turns = 0;      ///< ended since the device's queue was stopped
};

/// It takes all that the device receives, before the node sees it, and sends through the device, or
/// through the device's root queue disc if it has one. Between turns one event of ns-3's scheduler
/// is pending at most: the stack's next deadline.
class LockstepStack : public Object, public LockstepConfigured {
 public:
  static TypeId GetTypeId();
  LockstepStack();
  ~LockstepStack() override;

  lockstep::Config& Fields() override { return config_; }
  const lockstep::Config& Fields() const override { return config_; }
  bool MayStillSet(std::string_view attribute) const override;

  /// Takes over the device. Once only; before any socket is opened.
  void SetDevice(Ptr<NetDevice> device);
  Ptr<NetDevice> GetDevice() const { return device_; }

  /// Until the stack has begun to run.
  void AddAddress(const lockstep::HostAddress& address);
  /// A way through `route.gateway`; prefix_bits 0: the default route of its family.
  void AddRoute(const lockstep::ConfigRoute& route);
  /// How good a way the configuration of the stack has there: the length of the prefix that it
  /// shares with an address or a route of ours; -1: there is none.
  std::int32_t Nearness(lockstep::IpAddress remote) const;
  bool Owns(lockstep::IpAddress address) const;

  /// The keys in Fields() are used as they are, not drawn: for worlds that must agree with another.
  void KeepKeys() { keys_kept_ = true; }
  bool SetStream(std::int64_t stream);

  /// The engine, made at the first call: from there on its Config is fixed. Stops with a line once
  /// the simulation is over.
  lockstep::Stack& GetCore();
  bool IsRunning() const { return core_ != nullptr; }
  const LockstepCounters& GetCounters() const { return counters_; }

  /// A turn is wanted at this instant, since the application has spoken.
  void Kick();
  /// What time it is, before a call that is not made in a turn and depends on it.
  void TellTime();

  class Port;  // in port.hpp
  /// For turns of a Stack that somebody else has: what the device receives waits there, and what is
  /// committed leaves through the device. No core is made here, and no turn.
  Port& LendPort();

  // The sockets of this stack.
  void Adopt(lockstep::ConnectionId id, Ptr<LockstepSocket> socket);
  void Listens(lockstep::ListenerId id, Ptr<LockstepSocket> socket);
  void Forget(lockstep::ListenerId id);
  /// `socket` is told what changes of its connection after every turn.
  void Watch(LockstepSocket* socket);
  void Unwatch(LockstepSocket* socket);

  // The application that speaks to the core itself; stops with a line if there is one already.
  void Invite(LockstepGuest& guest);
  void Dismiss();

  // An Application of core/stack.
  void on_event(lockstep::Stack& stack, const lockstep::Event& event);
  void run(lockstep::Stack& stack, lockstep::Instant now);

 protected:
  void DoInitialize() override;
  void DoDispose() override;

 private:
  struct Waiting {
    std::vector<std::byte> bytes;
    std::uint32_t length = 0;
    Ptr<const Packet> packet;
  };

  bool Mute(Ptr<NetDevice> device, Ptr<const Packet> packet, std::uint16_t protocol,
            const Address& from);
  bool Receive(Ptr<NetDevice> device, Ptr<const Packet> packet, std::uint16_t protocol,
               const Address& from, const Address& to, NetDevice::PacketType type);
  void Store(Ptr<const Packet> packet, std::uint16_t protocol, const Address& from,
             const Address& to);
  Ptr<LockstepStack> ReceiverOf(const Packet& packet, std::uint16_t protocol);
  Ptr<LockstepStack> SenderOf(std::span<const std::byte> packet);
  void Send(Ptr<Packet> packet, const Address& to, std::uint16_t protocol);
  void SettleArrival();
  void SettleLate();
  bool SetUseQueueDisc(bool use);
  bool GetUseQueueDisc() const { return use_queue_disc_; }
  std::int64_t GetStream() const { return stream_; }
  void TakeGateways();
  void LeaveIpv6();
  void MakePort();
  bool IsLent() const { return core_ == nullptr && port_ != nullptr; }
  void Build();
  void Connect();
  void Turn();
  void Due();
  void Expire();
  void TurnUntilQuiet();
  void Arm();
  void NoteDrops(std::uint32_t frames);
  lockstep::Instant Deadline() const;
  bool TellGuest(lockstep::Stack& stack, const lockstep::Event& event);
  bool IsStopped() const;
  void Wake();
  void Transmit(std::span<const std::byte> frame);
  std::string Name() const;

  lockstep::Config config_;
  std::vector<std::byte> memory_;
  std::unique_ptr<lockstep::Stack> core_;
  std::unique_ptr<Port> port_;
  Ptr<NetDevice> device_;                     // null: not yet, or the simulation is over
  Ptr<TrafficControlLayer> traffic_control_;  // if the device has a root queue disc
  bool use_queue_disc_ = true;
  std::int64_t stream_ = -1;
  bool keys_kept_ = false;

  std::vector<Waiting> waiting_;  // buffers; the first waiting_count_ hold frames
  std::uint32_t waiting_count_ = 0;
  // How often the device speaks of a packet: ns-3's own do it before and after their traces.
  enum class Speech : std::uint8_t { unknown, once, twice };
  Speech speech_ = Speech::unknown;
  Ptr<LockstepStack> stored_at_;  // where the packet of which it has spoken once waits
  bool announced_ = false;        // it has said only that a packet came
  bool turning_ = false;
  bool again_ = false;  // something came while it turned
  EventId event_;
  std::uint64_t event_at_ = ~std::uint64_t{0};
  bool blocked_ = false;
  lockstep::DropCounters drops_seen_;

  std::vector<Ptr<LockstepSocket>> connections_;  // by slot
  std::vector<Ptr<LockstepSocket>> listeners_;    // by slot
  std::vector<Ptr<LockstepSocket>> sockets_;      // those of connections_, in order of birth
  std::vector<LockstepSocket*> watched_;
  LockstepGuest* guest_ = nullptr;
  Ptr<LockstepHost> host_;  // if it has several stacks

  LockstepCounters counters_;
  TracedCallback<Ptr<const Packet>> tx_trace_;
  TracedCallback<Ptr<const Packet>> rx_trace_;
  TracedCallback<Ptr<const Packet>, std::string> drop_trace_;
};

}  // namespace ns3
