// A Stack of the core on one device of a node: frames, time and turns.
#include "sim/ns3/stack.hpp"

#include <ns3/abort.h>
#include <ns3/boolean.h>
#include <ns3/integer.h>
#include <ns3/ipv6.h>
#include <ns3/log.h>
#include <ns3/mac48-address.h>
#include <ns3/net-device-queue-interface.h>
#include <ns3/node.h>
#include <ns3/object-vector.h>
#include <ns3/queue-disc.h>
#include <ns3/random-variable-stream.h>
#include <ns3/simulator.h>
#include <ns3/trace-source-accessor.h>
#include <ns3/traffic-control-layer.h>

#include <algorithm>
#include <iostream>
#include <sstream>
#include <utility>

#include "core/stack/statistics.hpp"
#include "core/stack/turn.hpp"
#include "sim/ns3/addresses.hpp"
#include "sim/ns3/gateways.hpp"
#include "sim/ns3/host.hpp"
#include "sim/ns3/port.hpp"
#include "sim/ns3/queue_item.hpp"
#include "sim/ns3/socket.hpp"

namespace ns3 {

NS_LOG_COMPONENT_DEFINE("LockstepStack");
NS_OBJECT_ENSURE_REGISTERED(LockstepStack);

namespace {

constexpr std::size_t alignment = 64;
// A stack that still has work after this many consecutive turns at one instant is stuck.
constexpr std::uint32_t turns_at_once_max = 100'000;

// At least `bytes` of memory, aligned as Stack requires.
std::span<std::byte> Aligned(std::vector<std::byte>& memory, std::uint64_t bytes) {
  memory.resize(bytes + alignment);
  void* start = memory.data();
  std::size_t space = memory.size();
  start = std::align(alignment, bytes, start, space);
  return {static_cast<std::byte*>(start), static_cast<std::size_t>(bytes)};
}

std::uint64_t DrawWord(UniformRandomVariable& random) {
  std::uint64_t const upper = random.GetInteger(0, 0xffff'ffff);
  return upper << 32 | random.GetInteger(0, 0xffff'ffff);
}

// The destination of a packet that starts with its IP header.
lockstep::IpAddress DestinationOf(std::span<const std::byte> packet) {
  auto const octets = [&](std::size_t at, std::size_t count) {
    std::uint64_t number = 0;
    for (auto const octet : packet.subspan(at, count)) {
      number = number << 8 | std::to_integer<std::uint64_t>(octet);
    }
    return number;
  };
  if ((packet[0] >> 4) == std::byte{6}) {
    return {octets(24, 8), octets(32, 8)};
  }
  return lockstep::IpAddress::from(lockstep::Ipv4{static_cast<std::uint32_t>(octets(16, 4))});
}

void WriteMac(std::span<std::byte> into, const Address& address) {
  std::array<std::uint8_t, 6> octets{};
  Mac48Address::ConvertFrom(address).CopyTo(octets.data());
  std::ranges::transform(octets, into.begin(), [](std::uint8_t o) { return std::byte{o}; });
}

}  // namespace

TypeId LockstepStack::GetTypeId() {
  static TypeId const tid = AddLockstepFields(
      TypeId("ns3::LockstepStack")
          .SetParent<Object>()
          .SetGroupName("Internet")
          .AddConstructor<LockstepStack>()
          .AddAttribute(
              "UseQueueDisc", "Send through the root queue disc of the device, if it has one.",
              BooleanValue(true),
              MakeBooleanAccessor(&LockstepStack::SetUseQueueDisc, &LockstepStack::GetUseQueueDisc),
              MakeBooleanChecker())
          .AddAttribute("Stream", "The random stream that the stack's keys are drawn from.",
                        IntegerValue(-1),
                        MakeIntegerAccessor(&LockstepStack::SetStream, &LockstepStack::GetStream),
                        MakeIntegerChecker<std::int64_t>())
          .AddAttribute("SocketList", "The sockets of the connections of this stack.",
                        ObjectVectorValue(), MakeObjectVectorAccessor(&LockstepStack::sockets_),
                        MakeObjectVectorChecker<LockstepSocket>())
          .AddTraceSource("Tx", "A packet sent to the device.",
                          MakeTraceSourceAccessor(&LockstepStack::tx_trace_),
                          "ns3::Packet::TracedCallback")
          .AddTraceSource("Rx", "A packet received from the device.",
                          MakeTraceSourceAccessor(&LockstepStack::rx_trace_),
                          "ns3::Packet::TracedCallback")
          .AddTraceSource("Drop", "A packet that the stack dropped, and why (core/units/drop.hpp).",
                          MakeTraceSourceAccessor(&LockstepStack::drop_trace_),
                          "ns3::LockstepStack::DropTracedCallback"));
  return tid;
}

LockstepStack::LockstepStack() = default;
LockstepStack::~LockstepStack() = default;

std::string LockstepStack::Name() const {
  std::ostringstream name;
  name << "device " << device_->GetIfIndex() << " of node " << device_->GetNode()->GetId();
  return name.str();
}

bool LockstepStack::MayStillSet(std::string_view attribute) const {
  if (IsRunning()) {
    std::cerr << "LockstepStack: the attribute " << attribute << " of " << Name()
              << " is set too late: the stack has begun to run\n";
  }
  return !IsRunning();
}

bool LockstepStack::SetStream(std::int64_t stream) {
  bool const may = MayStillSet("Stream");
  stream_ = may ? stream : stream_;
  return may;
}

bool LockstepStack::SetUseQueueDisc(bool use) {
  bool const may = MayStillSet("UseQueueDisc");
  use_queue_disc_ = may ? use : use_queue_disc_;
  return may;
}

void LockstepStack::SetDevice(Ptr<NetDevice> device) {
  NS_ABORT_MSG_IF(device_ != nullptr, "LockstepStack: " << Name() << " is its device already");
  device_ = std::move(device);
  config_.link = device_->NeedsArp() ? lockstep::LinkType::ethernet : lockstep::LinkType::ip;
  if (config_.link == lockstep::LinkType::ethernet) {
    NS_ABORT_MSG_UNLESS(Mac48Address::IsMatchingType(device_->GetAddress()),
                        "LockstepStack: " << Name() << " has no Mac48Address, the only kind that "
                                          << "this stack resolves");
    Mac48Address::ConvertFrom(device_->GetAddress()).CopyTo(config_.mac.octets.data());
  }
  device_->SetReceiveCallback(MakeCallback(&LockstepStack::ReceivePlain, this));
  device_->SetPromiscReceiveCallback(MakeCallback(&LockstepStack::Receive, this));
}

// The plain receive callback, for packets that Receive() gets as well: most devices call this one
// first. The turn waits for the second callback, because the device captures the packet in between,
// and the response must follow it in the capture.
bool LockstepStack::ReceivePlain(Ptr<NetDevice>, Ptr<const Packet>, std::uint16_t, const Address&) {
  callbacks_ = Callbacks::twice;
  if (stored_at_ == nullptr) {
    announced_ = true;
  } else {
    SettleArrival();
  }
  return true;
}

void LockstepStack::AddAddress(const lockstep::HostAddress& address) {
  NS_ABORT_MSG_IF(IsRunning(), "LockstepStack: " << Name() << " gets an address too late: the "
                                                 << "stack has begun to run");
  NS_ABORT_MSG_IF(config_.address_count.value == lockstep::Config::addresses_max,
                  "LockstepStack: " << Name() << " has " << lockstep::Config::addresses_max
                                    << " addresses, as many as a stack has room for");
  config_.addresses[config_.address_count.value++] = address;
}

void LockstepStack::AddRoute(const lockstep::ConfigRoute& route) {
  NS_ABORT_MSG_IF(IsRunning(), "LockstepStack: " << Name() << " gets a route too late: the stack "
                                                 << "has begun to run");
  NS_ABORT_MSG_IF(config_.route_count.value == lockstep::Config::routes_max,
                  "LockstepStack: " << Name() << " has " << lockstep::Config::routes_max
                                    << " routes, as many as a stack has room for");
  config_.routes[config_.route_count.value++] = route;
}

bool LockstepStack::Owns(lockstep::IpAddress address) const {
  auto const ours = std::span(config_.addresses).first(config_.address_count.value);
  return std::ranges::any_of(ours, [&](const auto& each) { return each.address == address; });
}

std::int32_t LockstepStack::MatchLength(lockstep::IpAddress remote) const {
  std::int32_t best = -1;
  auto const consider = [&](lockstep::IpAddress prefix, std::uint32_t bits) {
    bool const family = prefix.is_v4() == remote.is_v4();
    std::uint32_t const all = prefix.is_v4() ? bits + 96 : bits;
    if (family && (bits == 0 || lockstep::common_bits({prefix, remote}) >= all)) {
      best = std::max(best, static_cast<std::int32_t>(bits));
    }
  };
  for (auto const& each : std::span(config_.addresses).first(config_.address_count.value)) {
    consider(each.address, each.prefix_bits);
    if (config_.link == lockstep::LinkType::ip) {
      consider(each.address, 0);  // on a point-to-point link the neighbour forwards
    }
  }
  for (auto const& each : std::span(config_.routes).first(config_.route_count.value)) {
    consider(each.prefix_bits == 0 ? each.gateway : each.prefix, each.prefix_bits);
  }
  return best;
}

// On a link with neighbours, takes the gateways from the node's own routes, unless routes were
// given.
void LockstepStack::TakeGateways() {
  if (config_.link == lockstep::LinkType::ip || config_.route_count.value != 0) {
    return;
  }
  auto const node = device_->GetNode();
  auto const routes = RoutesBy(device_, AddressesOfOthers(node));
  NS_ABORT_MSG_IF(routes.size() > lockstep::Config::routes_max,
                  "LockstepStack: " << Name() << " needs " << routes.size()
                                    << " routes, but a stack has room for "
                                    << lockstep::Config::routes_max
                                    << ": set its gateway with LockstepHelper::SetGateway");
  for (auto const& route : routes) {
    AddRoute(route);
  }
}

// Disables the node's own IPv6 on the device. Otherwise it would do duplicate address detection for
// our addresses, and find duplicates.
void LockstepStack::LeaveIpv6() {
  auto const ipv6 = device_->GetNode()->GetObject<Ipv6>();
  std::int32_t const interface = ipv6 == nullptr ? -1 : ipv6->GetInterfaceForDevice(device_);
  if (interface >= 0) {
    ipv6->SetDown(static_cast<std::uint32_t>(interface));
  }
}

void LockstepStack::Build() {
  NS_ABORT_MSG_IF(config_.address_count.value == 0,
                  "LockstepStack: " << Name() << " has no address: assign one, by "
                                    << "Ipv4AddressHelper before LockstepHelper::Install, or by "
                                    << "LockstepHelper::AddAddress");
  auto const ours = std::span(config_.addresses).first(config_.address_count.value);
  bool const v6 = std::ranges::any_of(ours, [](const auto& a) { return !a.address.is_v4(); });
  lockstep::Bytes const mtu{device_->GetMtu()};
  NS_ABORT_MSG_IF(v6 && mtu.count < 1280, "LockstepStack: the attribute Mtu of "
                                              << Name() << " is " << mtu.count
                                              << ": IPv6 needs 1280 (RFC 8200 5)");
  NS_ABORT_MSG_IF(mtu.count < 68, "LockstepStack: the attribute Mtu of "
                                      << Name() << " is " << mtu.count
                                      << ": IPv4 needs 68 (RFC 791)");
  lockstep::Bytes const wanted = config_.tcp.mss;
  lockstep::set_mtu(config_, mtu);
  if (wanted.count != 0) {
    config_.tcp.mss = least(wanted, config_.tcp.mss);
  }
  auto const fault = lockstep::fault_of(config_);
  NS_ABORT_MSG_UNLESS(fault.empty(), "LockstepStack: " << Name() << ": " << fault);
  MakePort();
  core_ = std::make_unique<lockstep::Stack>(
      config_, Aligned(memory_, lockstep::Stack::arena_bytes(config_)));
  connections_.resize(config_.tcp.connections_max.value);
  listeners_.resize(config_.tcp.listeners_max.value);
}

void LockstepStack::MakePort() {
  waiting_.resize(std::min(config_.burst_frames.value, Port::burst_max));
  port_ = std::make_unique<Port>(*this);
}

LockstepStack::Port& LockstepStack::LendPort() {
  NS_ABORT_MSG_IF(IsRunning(), "LockstepStack: " << Name() << " lends its port too late: the "
                                                 << "stack has begun to run");
  if (port_ == nullptr) {
    MakePort();
    Connect();
  }
  return *port_;
}

lockstep::Stack& LockstepStack::GetCore() {
  if (core_ == nullptr) {
    NS_ABORT_MSG_IF(device_ == nullptr,
                    "LockstepStack: it has no device yet, or the simulation is "
                    "over: read its state before Simulator::Destroy");
    if (!keys_kept_) {
      auto const random = CreateObject<UniformRandomVariable>();
      random->SetStream(stream_);
      lockstep::Entropy entropy;
      for (auto& word : entropy) {
        word = DrawWord(*random);
      }
      lockstep::draw_keys(config_, entropy);
    }
    auto const host = device_->GetNode()->GetObject<LockstepHost>();
    if (host != nullptr) {
      host->SaveRoutes();
      host_ = host->GetStacks().size() > 1 ? host : nullptr;
    }
    TakeGateways();
    LeaveIpv6();
    Build();
    Kick();
  }
  return *core_;
}

void LockstepStack::DoInitialize() {
  GetCore();
  Connect();
  Object::DoInitialize();
}

// Connects to the device's queues, which all exist by now.
void LockstepStack::Connect() {
  traffic_control_ = device_->GetNode()->GetObject<TrafficControlLayer>();
  if (traffic_control_ != nullptr) {
    bool const disc = traffic_control_->GetRootQueueDiscOnDevice(device_) != nullptr;
    if (disc && !use_queue_disc_) {
      traffic_control_->DeleteRootQueueDiscOnDevice(device_);
    }
    if (!disc || !use_queue_disc_) {
      traffic_control_ = nullptr;
    }
  }
  auto const queues = device_->GetObject<NetDeviceQueueInterface>();
  if (queues != nullptr && traffic_control_ == nullptr) {
    for (std::size_t i = 0; i < queues->GetNTxQueues(); ++i) {
      queues->GetTxQueue(i)->SetWakeCallback(MakeCallback(&LockstepStack::Wake, this));
    }
  }
}

void LockstepStack::DoDispose() {
  event_.Cancel();
  for (auto const* const sockets : {&connections_, &listeners_}) {
    for (auto const& socket : *sockets) {
      if (socket != nullptr) {
        socket->StackGone(this);
      }
    }
  }
  core_.reset();
  port_.reset();
  connections_.clear();
  listeners_.clear();
  sockets_.clear();
  watched_.clear();
  guest_ = nullptr;
  host_ = nullptr;
  stored_at_ = nullptr;
  device_ = nullptr;
  traffic_control_ = nullptr;
  Object::DoDispose();
}

bool LockstepStack::Receive(Ptr<NetDevice>, Ptr<const Packet> packet, std::uint16_t protocol,
                            const Address& from, const Address& to, NetDevice::PacketType type) {
  if (type == NetDevice::PACKET_OTHERHOST || device_ == nullptr) {
    return false;
  }
  if (!IsLent()) {
    GetCore();
  }
  rx_trace_(packet);
  auto const receiver = ReceiverOf(*packet, protocol);
  receiver->Store(std::move(packet), protocol, from,
                  receiver == this ? to : receiver->GetDevice()->GetAddress());
  stored_at_ = receiver;
  if (announced_ || callbacks_ == Callbacks::once) {
    SettleArrival();
  } else if (callbacks_ == Callbacks::unknown) {
    Simulator::ScheduleNow(&LockstepStack::SettleLate, Ptr<LockstepStack>(this));
  }
  return true;
}

// Takes the turn for a stored packet, once the device has called all its callbacks.
void LockstepStack::SettleArrival() {
  announced_ = false;
  auto const receiver = std::exchange(stored_at_, nullptr);
  if (!receiver->IsLent()) {
    receiver->Turn();
  }
}

// For the first packet: the device called only one of the two callbacks.
void LockstepStack::SettleLate() {
  if (stored_at_ != nullptr) {
    callbacks_ = Callbacks::once;
    SettleArrival();
  }
}

// On a node with several interfaces, the stack that has the destination address, on whichever
// interface the packet arrived.
Ptr<LockstepStack> LockstepStack::ReceiverOf(const Packet& packet, std::uint16_t protocol) {
  std::array<std::byte, 40> header{};
  bool const v6 = protocol == 0x86dd;
  std::uint32_t const need = v6 ? 40 : 20;
  if (host_ == nullptr || (!v6 && protocol != 0x0800) || packet.GetSize() < need) {
    return this;
  }
  packet.CopyData(reinterpret_cast<std::uint8_t*>(header.data()), need);
  auto const destination = DestinationOf(header);
  auto const owner = Owns(destination) ? nullptr : host_->OwnerOf(destination);
  if (owner == nullptr || owner->IsLent()) {
    return this;
  }
  owner->GetCore();
  return owner;
}

void LockstepStack::Store(Ptr<const Packet> packet, std::uint16_t protocol, const Address& from,
                          const Address& to) {
  if (waiting_count_ == waiting_.size()) {
    ++counters_.overflowed;
    drop_trace_(packet, "burst_full");
    return;
  }
  ++counters_.frames_received;
  Waiting& place = waiting_[waiting_count_++];
  bool const ethernet = config_.link == lockstep::LinkType::ethernet;
  std::uint32_t const header = ethernet ? Port::ethernet_header : 0;
  place.length = packet->GetSize() + header;
  if (place.bytes.size() < place.length) {
    place.bytes.resize(std::max<std::size_t>(place.length, config_.mtu.count + header));
  }
  std::span const bytes(place.bytes);
  if (header != 0) {
    WriteMac(bytes.first(6), to);
    WriteMac(bytes.subspan(6, 6), from);
    bytes[12] = static_cast<std::byte>(protocol >> 8);
    bytes[13] = static_cast<std::byte>(protocol & 0xff);
  }
  packet->CopyData(reinterpret_cast<std::uint8_t*>(bytes.data() + header), packet->GetSize());
  place.packet = std::move(packet);
}

// Reports drops to the trace Drop, with the packet of the turn, or the last one of several.
void LockstepStack::NoteDrops(std::uint32_t frames) {
  // Drops before a trace sink was connected are not reported: their packets no longer exist.
  auto const drops = IsLent() ? drops_seen_ : core_->statistics().drops;
  bool const traced = frames != 0 && !drop_trace_.IsEmpty();
  for (std::uint32_t i = 0; i < lockstep::drop_count && traced; ++i) {
    auto const reason = static_cast<lockstep::Drop>(i);
    for (auto seen = drops_seen_.of(reason); seen < drops.of(reason); ++seen) {
      drop_trace_(waiting_[frames - 1].packet, std::string(lockstep::name_of(reason)));
    }
  }
  drops_seen_ = drops;
  for (std::uint32_t i = 0; i < frames; ++i) {
    waiting_[i].packet = nullptr;
  }
}

bool LockstepStack::IsStopped() const {
  if (traffic_control_ != nullptr) {
    return false;
  }
  auto const queues = device_->GetObject<NetDeviceQueueInterface>();
  for (std::size_t i = 0; queues != nullptr && i < queues->GetNTxQueues(); ++i) {
    if (queues->GetTxQueue(i)->IsStopped()) {
      return true;
    }
  }
  return false;
}

void LockstepStack::Wake() {
  if (blocked_) {
    Kick();
  }
}

void LockstepStack::Transmit(std::span<const std::byte> frame) {
  bool const ethernet = config_.link == lockstep::LinkType::ethernet;
  auto const payload = frame.subspan(ethernet ? Port::ethernet_header : 0);
  std::uint16_t protocol = (payload[0] >> 4) == std::byte{6} ? 0x86dd : 0x0800;
  Address to = device_->GetBroadcast();
  if (ethernet) {
    Mac48Address mac;
    mac.CopyFrom(reinterpret_cast<const std::uint8_t*>(frame.data()));
    to = mac;
    protocol = static_cast<std::uint16_t>(std::to_integer<std::uint32_t>(frame[12]) << 8 |
                                          std::to_integer<std::uint32_t>(frame[13]));
  }
  auto const packet = Create<Packet>(reinterpret_cast<const std::uint8_t*>(payload.data()),
                                     static_cast<std::uint32_t>(payload.size()));
  auto const sender = SenderOf(payload);
  sender->Send(packet, sender == this ? to : sender->device_->GetBroadcast(), protocol);
}

// On a node with several point-to-point links, the stack of the link that the node's own routes
// choose now.
Ptr<LockstepStack> LockstepStack::SenderOf(std::span<const std::byte> packet) {
  if (host_ == nullptr || config_.link == lockstep::LinkType::ethernet) {
    return this;
  }
  auto const routed = host_->RoutedTo(DestinationOf(packet));
  bool const usable = routed != nullptr && routed->config_.link == lockstep::LinkType::ip;
  return usable ? routed : this;
}

void LockstepStack::Send(Ptr<Packet> packet, const Address& to, std::uint16_t protocol) {
  ++counters_.frames_sent;
  tx_trace_(packet);
  if (traffic_control_ != nullptr) {
    traffic_control_->Send(device_, Create<LockstepQueueItem>(packet, to, protocol));
  } else if (!device_->Send(packet, to, protocol)) {
    ++counters_.refused_by_device;
    drop_trace_(packet, "device_refused");
  }
}

void LockstepStack::Turn() {
  if (turning_) {
    frame_arrived_ = true;
    return;
  }
  turning_ = true;
  Ptr<LockstepStack> const alive(this);
  TurnUntilQuiet();
  turning_ = false;
  if (core_ == nullptr) {
    return;  // the called code disposed of this stack
  }
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    watched_[i]->Sample();
  }
  Arm();
}

void LockstepStack::TurnUntilQuiet() {
  std::uint32_t turns = 0;
  do {
    frame_arrived_ = false;
    lockstep::Outcome const outcome = lockstep::turn(*core_, *port_, *this);
    ++counters_.turns;
    blocked_ = outcome == lockstep::Outcome::transmit_blocked;
    counters_.blocked_turns += blocked_ ? 1 : 0;
    NS_ABORT_MSG_IF(++turns == turns_at_once_max,
                    "LockstepStack: " << Name() << " took " << turns << " turns at one instant");
  } while (core_ != nullptr &&
           (frame_arrived_ || waiting_count_ != 0 || (!blocked_ && Deadline() <= Port::Clock())));
}

lockstep::Instant LockstepStack::Deadline() const {
  auto const at = core_->deadline();
  return guest_ == nullptr ? at : earlier(at, guest_->Deadline());
}

// Keeps one ns-3 event, at the next deadline or before it; an early one only schedules the next. So
// an ACK that postpones a timer costs no event.
void LockstepStack::Arm() {
  std::uint64_t const at = blocked_ ? lockstep::Duration::ns_max : Deadline().ns;
  if (event_at_ <= at) {
    return;
  }
  event_.Remove();
  event_at_ = at;
  auto const now = Port::Clock().ns;
  Time in = NanoSeconds(at > now ? at - now : 0);
  if (in.GetNanoSeconds() < 0 || static_cast<std::uint64_t>(in.GetNanoSeconds()) + now < at) {
    in += TimeStep(1);  // ns-3's clock is coarser: round up, or the event would repeat for ever
  }
  event_ = Simulator::Schedule(in, &LockstepStack::Due, this);
  ++counters_.events;
}

// Frames of this instant precede timers, as in our simulator: their events are already scheduled.
void LockstepStack::Due() {
  event_at_ = lockstep::Duration::ns_max;
  if (Deadline() <= Port::Clock()) {
    Kick();
  } else {
    Arm();
  }
}

void LockstepStack::Expire() {
  event_at_ = lockstep::Duration::ns_max;
  Turn();
}

void LockstepStack::Kick() {
  if (turning_) {
    frame_arrived_ = true;
    return;
  }
  auto const now = Port::Clock().ns;
  if (event_at_ > now && core_ != nullptr) {
    event_.Remove();
    event_at_ = now;
    event_ = Simulator::ScheduleNow(&LockstepStack::Expire, this);
    ++counters_.events;
  }
}

void LockstepStack::UpdateClock() {
  if (!turning_) {
    GetCore().expire(Port::Clock());
  }
}

void LockstepStack::Adopt(lockstep::ConnectionId id, Ptr<LockstepSocket> socket) {
  sockets_.push_back(socket);
  connections_[id.slot] = std::move(socket);
}

void LockstepStack::Listens(lockstep::ListenerId id, Ptr<LockstepSocket> socket) {
  listeners_[id.slot] = std::move(socket);
}

void LockstepStack::Forget(lockstep::ListenerId id) { listeners_[id.slot] = nullptr; }

void LockstepStack::Watch(LockstepSocket* socket) {
  if (std::ranges::find(watched_, socket) == watched_.end()) {
    watched_.push_back(socket);
  }
}

void LockstepStack::Unwatch(LockstepSocket* socket) { std::erase(watched_, socket); }

void LockstepStack::Invite(LockstepGuest& guest) {
  NS_ABORT_MSG_IF(guest_ != nullptr,
                  "LockstepStack: " << Name() << " has an application on the core "
                                    << "already: put the other one on another node");
  guest_ = &guest;
  GetCore();
  Kick();
}

void LockstepStack::Dismiss() { guest_ = nullptr; }

void LockstepStack::run(lockstep::Stack& stack, lockstep::Instant now) {
  if (guest_ != nullptr) {
    guest_->Run(stack, now);
  }
}

bool LockstepStack::NotifyGuest(lockstep::Stack& stack, const lockstep::Event& event) {
  bool const accepted = event.kind == lockstep::EventKind::accepted;
  if (guest_ == nullptr || (accepted && !guest_->Listens(event.listener))) {
    return false;
  }
  guest_->HandleEvent(stack, event);
  return true;
}

void LockstepStack::on_event(lockstep::Stack& stack, const lockstep::Event& event) {
  Ptr<LockstepSocket> socket;
  if (event.kind == lockstep::EventKind::accepted) {
    Ptr<LockstepSocket> const listener = listeners_[event.listener.slot];
    if (listener == nullptr) {
      if (!NotifyGuest(stack, event)) {
        stack.abort(event.id);  // no listener any more
      }
      return;
    }
    socket = listener->Fork(this, event.id);
    Adopt(event.id, socket);
    listener->Accepted(socket);
    return;
  }
  socket = connections_[event.id.slot];
  if (socket == nullptr) {
    NotifyGuest(stack, event);
    return;
  }
  if (event.kind == lockstep::EventKind::closed) {
    socket->Sample();
    Unwatch(PeekPointer(socket));
    connections_[event.id.slot] = nullptr;
    std::erase(sockets_, socket);
  }
  socket->HandleEvent(event);
}

}  // namespace ns3
