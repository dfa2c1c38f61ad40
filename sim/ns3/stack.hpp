// A core Stack on one device of a node: frames, time and turns.
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

/// Counters between a stack and ns-3.
struct LockstepCounters {
  std::uint64_t turns = 0;
  std::uint64_t events = 0;  ///< events that this stack scheduled in ns-3
  std::uint64_t frames_received = 0;
  std::uint64_t frames_sent = 0;
  std::uint64_t refused_by_device = 0;  ///< Send() returned false: the frame is lost
  std::uint64_t overflowed = 0;         ///< arrived while a full burst was waiting: lost
  std::uint64_t blocked_turns = 0;      ///< ended because the device's queue was stopped
};

/// Receives all packets of the device in place of the node, and sends through the device or, if it
/// has one, the device's root queue disc. Between turns at most one ns-3 event is pending: the
/// stack's next deadline.
class LockstepStack : public Object, public LockstepConfigured {
 public:
  static TypeId GetTypeId();
  LockstepStack();
  ~LockstepStack() override;

  lockstep::Config& Fields() override { return config_; }
  const lockstep::Config& Fields() const override { return config_; }
  bool MayStillSet(std::string_view attribute) const override;

  /// Takes over the device. Call it once, before any socket is opened.
  void SetDevice(Ptr<NetDevice> device);
  Ptr<NetDevice> GetDevice() const { return device_; }

  /// Only before the stack runs.
  void AddAddress(const lockstep::HostAddress& address);
  /// A route through `route.gateway`; prefix_bits 0: the default route of its family.
  void AddRoute(const lockstep::ConfigRoute& route);
  /// The length of the longest prefix of an address or route of this stack that contains `remote`;
  /// -1: there is none.
  std::int32_t MatchLength(lockstep::IpAddress remote) const;
  bool Owns(lockstep::IpAddress address) const;

  /// Uses the keys in Fields() instead of drawing them, so that runs can be compared with another
  /// world.
  void KeepKeys() { keys_kept_ = true; }
  bool SetStream(std::int64_t stream);

  /// The stack, created by the first call; its Config is fixed from then on. Aborts with a message
  /// once the simulation is over.
  lockstep::Stack& GetCore();
  bool IsRunning() const { return core_ != nullptr; }
  const LockstepCounters& GetCounters() const { return counters_; }

  /// Schedules a turn now, after an application's call.
  void Kick();
  /// Sets the stack's clock, before a call outside a turn that depends on the time.
  void UpdateClock();

  class Port;  // in port.hpp
  /// For turns of a Stack that the caller owns: received frames wait in this port, and committed
  /// frames leave through the device. This object then creates no core and takes no turns.
  Port& LendPort();

  // The sockets of this stack.
  void Adopt(lockstep::ConnectionId id, Ptr<LockstepSocket> socket);
  void Listens(lockstep::ListenerId id, Ptr<LockstepSocket> socket);
  void Forget(lockstep::ListenerId id);
  /// Samples `socket` after every turn.
  void Watch(LockstepSocket* socket);
  void Unwatch(LockstepSocket* socket);

  // The application that uses the core directly; aborts with a message if there is one already.
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

  bool ReceivePlain(Ptr<NetDevice> device, Ptr<const Packet> packet, std::uint16_t protocol,
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
  bool NotifyGuest(lockstep::Stack& stack, const lockstep::Event& event);
  bool IsStopped() const;
  void Wake();
  void Transmit(std::span<const std::byte> frame);
  std::string Name() const;

  lockstep::Config config_;
  std::vector<std::byte> memory_;
  std::unique_ptr<lockstep::Stack> core_;
  std::unique_ptr<Port> port_;
  Ptr<NetDevice> device_;                     // null: not set yet, or the simulation is over
  Ptr<TrafficControlLayer> traffic_control_;  // if the device has a root queue disc
  bool use_queue_disc_ = true;
  std::int64_t stream_ = -1;
  bool keys_kept_ = false;

  std::vector<Waiting> waiting_;  // buffers; the first waiting_count_ hold frames
  std::uint32_t waiting_count_ = 0;
  // How many of its two receive callbacks the device calls per packet: ns-3's own devices call
  // both, one before and one after their traces.
  enum class Callbacks : std::uint8_t { unknown, once, twice };
  Callbacks callbacks_ = Callbacks::unknown;
  Ptr<LockstepStack> stored_at_;  // where the packet waits until the second callback
  bool announced_ = false;        // the plain receive callback has run, Receive() not yet
  bool turning_ = false;
  bool frame_arrived_ = false;  // a frame arrived during the turn
  EventId event_;
  std::uint64_t event_at_ = ~std::uint64_t{0};
  bool blocked_ = false;
  lockstep::DropCounters drops_seen_;

  std::vector<Ptr<LockstepSocket>> connections_;  // by slot
  std::vector<Ptr<LockstepSocket>> listeners_;    // by slot
  std::vector<Ptr<LockstepSocket>> sockets_;      // those of connections_, in order of creation
  std::vector<LockstepSocket*> watched_;
  LockstepGuest* guest_ = nullptr;
  Ptr<LockstepHost> host_;  // if the node has several stacks

  LockstepCounters counters_;
  TracedCallback<Ptr<const Packet>> tx_trace_;
  TracedCallback<Ptr<const Packet>> rx_trace_;
  TracedCallback<Ptr<const Packet>, std::string> drop_trace_;
};

}  // namespace ns3
