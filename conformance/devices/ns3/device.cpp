// ns-3's own TCP as a device: one node with one interface, and the sockets of its programs. The
// tester is a second node without a protocol stack.
#include <ns3/boolean.h>
#include <ns3/config.h>
#include <ns3/global-value.h>
#include <ns3/icmpv6-l4-protocol.h>
#include <ns3/inet-socket-address.h>
#include <ns3/inet6-socket-address.h>
#include <ns3/internet-stack-helper.h>
#include <ns3/ipv4-l3-protocol.h>
#include <ns3/ipv6-l3-protocol.h>
#include <ns3/map-scheduler.h>
#include <ns3/node.h>
#include <ns3/object-vector.h>
#include <ns3/packet.h>
#include <ns3/rng-seed-manager.h>
#include <ns3/simple-channel.h>
#include <ns3/simple-net-device.h>
#include <ns3/simulator.h>
#include <ns3/tcp-l4-protocol.h>
#include <ns3/tcp-socket-base.h>
#include <ns3/tcp-socket-factory.h>
#include <ns3/uinteger.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/devices/device.h"

// The simulator is a global object, so a process has one device at a time.

namespace {

constexpr std::int64_t unsupported = LOCKSTEP_DEVICE_UNSUPPORTED;
constexpr std::int64_t refused = LOCKSTEP_DEVICE_REFUSED;
constexpr std::int64_t again = LOCKSTEP_DEVICE_AGAIN;
constexpr std::int64_t gone = LOCKSTEP_DEVICE_GONE;

constexpr std::uint16_t ethertype_4 = 0x0800;
constexpr std::uint16_t ethertype_6 = 0x86dd;
constexpr std::uint32_t headers_4 = 40;
constexpr std::uint32_t headers_6 = 60;

/// The default scheduler, which also tells when its first event is due.
class Schedule : public ns3::MapScheduler {
 public:
  static ns3::TypeId GetTypeId() {
    static ns3::TypeId const id = ns3::TypeId("lockstep::DeviceSchedule")
                                      .SetParent<ns3::MapScheduler>()
                                      .AddConstructor<Schedule>();
    return id;
  }

  Schedule() { the_one_ = this; }

  /// The instant of the first event; nothing if there is none.
  static std::optional<std::uint64_t> next() {
    if (the_one_ == nullptr || the_one_->IsEmpty()) {
      return std::nullopt;
    }
    return the_one_->PeekNext().key.m_ts;
  }

 private:
  inline static Schedule* the_one_ = nullptr;
};

/// Reads what a socket keeps to itself.
struct Opened : ns3::TcpSocketBase {
  static ns3::TcpSocket::TcpStates_t state_of(const ns3::TcpSocketBase& socket) {
    return (socket.*(&Opened::m_state)).Get();
  }
  static const ns3::TcpSocketState& control_of(const ns3::TcpSocketBase& socket) {
    return *(socket.*(&Opened::m_tcb));
  }
  static std::uint32_t window_of(const ns3::TcpSocketBase& socket) {
    return (socket.*(&Opened::m_rWnd)).Get();
  }
  static ns3::Time timeout_of(const ns3::TcpSocketBase& socket) {
    return (socket.*(&Opened::m_rto)).Get();
  }
};

struct Connection {
  ns3::Ptr<ns3::Socket> socket;
  std::string events;
  bool finished = false;  ///< the peer has finished
  bool closed = false;    ///< by the program
  bool over = false;

  void tell(std::string_view word) {
    events += events.empty() ? "" : " ";
    events += word;
  }

  void end(std::string_view word) {
    if (!over) {
      over = true;
      tell(word);
    }
  }
};

struct Listener {
  ns3::Ptr<ns3::Socket> socket;
  std::deque<std::int64_t> accepted;
};

}  // namespace

struct lockstep_device {
  ns3::Ptr<ns3::Node> node;
  ns3::Ptr<ns3::SimpleNetDevice> inside;
  ns3::Ptr<ns3::SimpleNetDevice> outside;
  std::string local;
  std::string remote;
  std::uint64_t start = 0;
  bool is_v6 = false;
  std::deque<std::vector<std::uint8_t>> sent;
  std::vector<std::unique_ptr<Connection>> connections;  ///< by handle - 1; null: a listener's
  std::vector<std::unique_ptr<Listener>> listeners;      ///< the same
  std::string told;
};

namespace {

lockstep_device* the_device = nullptr;

template <class T>
T* entry(const std::vector<std::unique_ptr<T>>& of, std::int64_t handle) {
  bool const known = handle >= 1 && static_cast<std::uint64_t>(handle) <= of.size();
  return known ? of[static_cast<std::size_t>(handle) - 1].get() : nullptr;
}

std::int64_t keep(lockstep_device* d, std::unique_ptr<Connection> connection,
                  std::unique_ptr<Listener> listener) {
  d->connections.push_back(std::move(connection));
  d->listeners.push_back(std::move(listener));
  return static_cast<std::int64_t>(d->connections.size());
}

ns3::Address address_of(const lockstep_device* d, const std::string& address, std::uint16_t port) {
  if (d->is_v6) {
    return ns3::Inet6SocketAddress(ns3::Ipv6Address(address.c_str()), port);
  }
  return ns3::InetSocketAddress(ns3::Ipv4Address(address.c_str()), port);
}

std::uint16_t port_of(const ns3::Address& address) {
  if (ns3::InetSocketAddress::IsMatchingType(address)) {
    return ns3::InetSocketAddress::ConvertFrom(address).GetPort();
  }
  return ns3::Inet6SocketAddress::IsMatchingType(address)
             ? ns3::Inet6SocketAddress::ConvertFrom(address).GetPort()
             : std::uint16_t{0};
}

// --- time ---

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(ns3::Simulator::Now().GetNanoSeconds());
}

/// Runs all events up to this instant, which is one of the simulator's clock.
void run_until(std::uint64_t instant) {
  constexpr int rounds_max = 10'000;
  for (int i = 0; i < rounds_max; ++i) {
    ns3::Simulator::Stop(ns3::NanoSeconds(instant - now_ns()));
    ns3::Simulator::Run();
    auto const next = Schedule::next();
    if (!next.has_value() || *next > instant) {
      return;
    }
  }
}

void settle() { run_until(now_ns()); }

// --- what ns-3 calls ---

bool on_frame(ns3::Ptr<ns3::NetDevice>, ns3::Ptr<const ns3::Packet> packet, std::uint16_t protocol,
              const ns3::Address&) {
  if (protocol == ethertype_4 || protocol == ethertype_6) {
    std::vector<std::uint8_t> octets(packet->GetSize());
    packet->CopyData(octets.data(), packet->GetSize());
    the_device->sent.push_back(std::move(octets));
  }
  return true;
}

Connection* connection_of(const ns3::Ptr<ns3::Socket>& socket) {
  for (const auto& each : the_device->connections) {
    if (each != nullptr && each->socket == socket) {
      return each.get();
    }
  }
  return nullptr;
}

ns3::TcpSocket::TcpStates_t state_of(const ns3::Ptr<ns3::Socket>& socket) {
  return Opened::state_of(*ns3::DynamicCast<ns3::TcpSocketBase>(socket));
}

void on_connected(ns3::Ptr<ns3::Socket> socket) {
  if (Connection* const found = connection_of(socket)) {
    found->tell("connected");
  }
}

void on_failed(ns3::Ptr<ns3::Socket> socket) {
  if (Connection* const found = connection_of(socket)) {
    found->end("closed:refused");
  }
}

/// ns-3 tells this when the peer's FIN arrives, and again when the connection ends.
void on_closed(ns3::Ptr<ns3::Socket> socket) {
  Connection* const found = connection_of(socket);
  if (found == nullptr) {
    return;
  }
  auto const state = state_of(socket);
  if (!found->finished && state != ns3::TcpSocket::CLOSED) {
    found->finished = true;
    found->tell("peer_finished");
  }
  if (state == ns3::TcpSocket::CLOSED || state == ns3::TcpSocket::TIME_WAIT) {
    found->end("closed:finished");
  }
}

void on_error(ns3::Ptr<ns3::Socket> socket) {
  if (Connection* const found = connection_of(socket)) {
    found->end("closed:reset");
  }
}

void on_received(ns3::Ptr<ns3::Socket> socket) {
  if (Connection* const found = connection_of(socket)) {
    found->tell("received");
  }
}

std::int64_t adopt(lockstep_device* d, const ns3::Ptr<ns3::Socket>& socket) {
  auto made = std::make_unique<Connection>();
  made->socket = socket;
  socket->SetConnectCallback(ns3::MakeCallback(on_connected), ns3::MakeCallback(on_failed));
  socket->SetCloseCallbacks(ns3::MakeCallback(on_closed), ns3::MakeCallback(on_error));
  socket->SetRecvCallback(ns3::MakeCallback(on_received));
  return keep(d, std::move(made), nullptr);
}

void on_accepted(ns3::Ptr<ns3::Socket> socket, const ns3::Address& from) {
  lockstep_device* const d = the_device;
  ns3::Address own;
  socket->GetSockName(own);
  static_cast<void>(from);
  for (const auto& each : d->listeners) {
    ns3::Address listens;
    if (each != nullptr && each->socket != nullptr && each->socket->GetSockName(listens) == 0 &&
        port_of(listens) == port_of(own)) {
      Listener* const listener = each.get();
      std::int64_t const handle = adopt(d, socket);
      d->connections.back()->tell("accepted");
      listener->accepted.push_back(handle);
      return;
    }
  }
}

bool allow(ns3::Ptr<ns3::Socket>, const ns3::Address&) { return true; }

// --- making it ---

void set_flag(const char* name, bool value) {
  ns3::Config::SetDefault(std::string("ns3::TcpSocketBase::") + name, ns3::BooleanValue(value));
}

std::string set_option(std::string_view name, const std::string& value) {
  bool const flag = value == "true" || value == "false";
  if (name == "sack" && flag) {
    set_flag("Sack", value == "true");
  } else if (name == "timestamps" && flag) {
    set_flag("Timestamp", value == "true");
  } else if (name == "window_scale" && flag) {
    set_flag("WindowScaling", value == "true");
  } else if (name == "receive_buffer_bytes") {
    ns3::Config::SetDefault("ns3::TcpSocket::RcvBufSize", ns3::UintegerValue(std::stoul(value)));
  } else {
    return "unsupported: no way to set " + std::string(name) + " to " + value;
  }
  return "";
}

/// The settings of a profile: in `rfc` without extensions and with RFC 5681's initial window.
std::string set_profile(const std::string& profile, std::uint32_t segment) {
  if (profile != "rfc" && profile != "default") {
    return "unsupported: no way to set profile to " + profile;
  }
  bool const extended = profile == "default";
  set_flag("Sack", extended);
  set_flag("Timestamp", extended);
  set_flag("WindowScaling", extended);
  ns3::Config::SetDefault("ns3::TcpSocket::SegmentSize", ns3::UintegerValue(segment));
  if (!extended) {
    std::uint32_t const segments = segment > 2'190 ? 2 : segment > 1'095 ? 3 : 4;
    ns3::Config::SetDefault("ns3::TcpSocket::InitialCwnd", ns3::UintegerValue(segments));
  }
  return "";
}

std::string set_options(std::string_view lines, std::uint32_t segment) {
  std::string profile = "rfc";
  std::vector<std::pair<std::string, std::string>> others;
  while (!lines.empty()) {
    std::size_t const end = std::min(lines.find('\n'), lines.size());
    std::string_view const line = lines.substr(0, end);
    std::size_t const sign = line.find('=');
    if (sign == std::string_view::npos && !line.empty()) {
      return "expected name=value, found " + std::string(line);
    }
    if (!line.empty()) {
      std::string const name(line.substr(0, sign));
      std::string const value(line.substr(sign + 1));
      if (name == "profile") {
        profile = value;
      } else {
        others.emplace_back(name, value);
      }
    }
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  std::string why = set_profile(profile, segment);
  for (std::size_t i = 0; i < others.size() && why.empty(); ++i) {
    why = set_option(others[i].first, others[i].second);
  }
  return why;
}

void add_interface(lockstep_device* d) {
  if (d->is_v6) {
    auto const ip = d->node->GetObject<ns3::Ipv6>();
    std::uint32_t const at = ip->AddInterface(d->inside);
    ip->AddAddress(at, {ns3::Ipv6Address(d->local.c_str()), ns3::Ipv6Prefix(64)});
    ip->SetUp(at);
  } else {
    auto const ip = d->node->GetObject<ns3::Ipv4>();
    std::uint32_t const at = ip->AddInterface(d->inside);
    ip->AddAddress(at, {ns3::Ipv4Address(d->local.c_str()), ns3::Ipv4Mask("255.255.255.0")});
    ip->SetUp(at);
  }
}

ns3::Ptr<ns3::SimpleNetDevice> add_card(const ns3::Ptr<ns3::Node>& node,
                                        const ns3::Ptr<ns3::SimpleChannel>& channel,
                                        std::uint32_t mtu) {
  auto const card = ns3::CreateObject<ns3::SimpleNetDevice>();
  card->SetAttribute("PointToPointMode", ns3::BooleanValue(true));
  card->SetAddress(ns3::Mac48Address::Allocate());
  card->SetChannel(channel);
  card->SetMtu(static_cast<std::uint16_t>(std::min<std::uint32_t>(mtu, 65'535)));
  node->AddDevice(card);
  return card;
}

std::string make(lockstep_device* d, const lockstep_device_setup& setup) {
  if (the_device != nullptr) {
    return "ns-3 has global variables: a process has one device at a time";
  }
  d->local = setup.local;
  d->remote = setup.remote;
  d->start = setup.start;
  d->is_v6 = d->local.find(':') != std::string::npos;
  std::uint32_t const headers = d->is_v6 ? headers_6 : headers_4;
  if (std::string why = set_options(setup.options, setup.mtu - headers); !why.empty()) {
    return why;
  }
  the_device = d;
  ns3::GlobalValue::Bind("ChecksumEnabled", ns3::BooleanValue(true));
  ns3::Config::SetDefault("ns3::Icmpv6L4Protocol::DAD", ns3::BooleanValue(false));
  ns3::RngSeedManager::SetSeed(1);
  ns3::RngSeedManager::SetRun(setup.seed);
  ns3::ObjectFactory schedule;
  schedule.SetTypeId(Schedule::GetTypeId());
  ns3::Simulator::SetScheduler(schedule);
  d->node = ns3::CreateObject<ns3::Node>();
  auto const tester = ns3::CreateObject<ns3::Node>();
  ns3::InternetStackHelper().Install(d->node);
  auto const channel = ns3::CreateObject<ns3::SimpleChannel>();
  d->inside = add_card(d->node, channel, setup.mtu);
  d->outside = add_card(tester, channel, 65'535);
  d->outside->SetReceiveCallback(ns3::MakeCallback(on_frame));
  add_interface(d);
  settle();
  d->sent.clear();
  return "";
}

lockstep_device* create(const lockstep_device_setup* setup, char* why, std::size_t room) {
  auto made = std::make_unique<lockstep_device>();
  if (std::string const reason = make(made.get(), *setup); !reason.empty()) {
    std::snprintf(why, room, "%s", reason.c_str());
    return nullptr;
  }
  return made.release();
}

void destroy(lockstep_device* d) {
  ns3::Simulator::Destroy();
  the_device = nullptr;
  delete d;
}

// --- time and the wire ---

void advance(lockstep_device* d, std::uint64_t now) { run_until(now - d->start); }

std::uint64_t deadline(lockstep_device* d) {
  auto const next = Schedule::next();
  return next.has_value() ? d->start + *next : LOCKSTEP_DEVICE_NEVER;
}

void packet_in(lockstep_device* d, const void* packet, std::size_t length) {
  const auto* const octets = static_cast<const std::uint8_t*>(packet);
  bool const v6 = length != 0 && octets[0] >> 4 == 6;
  d->outside->Send(ns3::Create<ns3::Packet>(octets, static_cast<std::uint32_t>(length)),
                   d->inside->GetAddress(), v6 ? ethertype_6 : ethertype_4);
  settle();
}

std::size_t packet_out(lockstep_device* d, void* packet, std::size_t room) {
  if (d->sent.empty()) {
    return 0;
  }
  std::vector<std::uint8_t> const next = std::move(d->sent.front());
  d->sent.pop_front();
  std::memcpy(packet, next.data(), std::min(room, next.size()));
  return next.size();
}

// --- the program's calls ---

ns3::Ptr<ns3::Socket> bound(lockstep_device* d, std::uint16_t port) {
  auto const socket = ns3::Socket::CreateSocket(d->node, ns3::TcpSocketFactory::GetTypeId());
  return socket->Bind(address_of(d, d->local, port)) == 0 ? socket : nullptr;
}

std::int64_t listen(lockstep_device* d, std::uint16_t port, std::uint32_t) {
  auto listener = std::make_unique<Listener>();
  listener->socket = bound(d, port);
  if (listener->socket == nullptr || listener->socket->Listen() != 0) {
    return refused;
  }
  listener->socket->SetAcceptCallback(ns3::MakeCallback(allow), ns3::MakeCallback(on_accepted));
  return keep(d, nullptr, std::move(listener));
}

std::int64_t unlisten(lockstep_device* d, std::int64_t handle) {
  Listener* const found = entry(d->listeners, handle);
  if (found == nullptr || found->socket == nullptr) {
    return gone;
  }
  found->socket->Close();
  found->socket = nullptr;
  settle();
  return 0;
}

std::int64_t accept(lockstep_device* d, std::int64_t handle) {
  Listener* const found = entry(d->listeners, handle);
  if (found == nullptr) {
    return gone;
  }
  if (found->accepted.empty()) {
    return again;
  }
  std::int64_t const next = found->accepted.front();
  found->accepted.pop_front();
  return next;
}

std::int64_t connect(lockstep_device* d, std::uint16_t local_port, std::uint16_t remote_port) {
  auto const socket = bound(d, local_port);
  if (socket == nullptr) {
    return refused;
  }
  std::int64_t const handle = adopt(d, socket);
  int const result = socket->Connect(address_of(d, d->remote, remote_port));
  settle();
  return result == 0 ? handle : refused;
}

std::int64_t send(lockstep_device* d, std::int64_t handle, const void* data, std::size_t length) {
  Connection* const found = entry(d->connections, handle);
  if (found == nullptr || found->over || found->closed) {
    return gone;
  }
  auto const taken =
      static_cast<std::uint32_t>(std::min<std::size_t>(length, found->socket->GetTxAvailable()));
  if (taken == 0) {
    return length == 0 ? 0 : again;
  }
  auto const packet = ns3::Create<ns3::Packet>(static_cast<const std::uint8_t*>(data), taken);
  int const result = found->socket->Send(packet, 0);
  settle();
  return result < 0 ? refused : result;
}

std::int64_t receive(lockstep_device* d, std::int64_t handle, void* data, std::size_t room) {
  Connection* const found = entry(d->connections, handle);
  if (found == nullptr) {
    return gone;
  }
  std::uint32_t const there = found->socket->GetRxAvailable();
  if (there == 0) {
    return found->finished ? 0 : found->over ? gone : again;
  }
  auto const packet =
      found->socket->Recv(static_cast<std::uint32_t>(std::min<std::size_t>(room, there)), 0);
  if (packet == nullptr) {
    return again;
  }
  packet->CopyData(static_cast<std::uint8_t*>(data), packet->GetSize());
  settle();
  return packet->GetSize();
}

std::int64_t finish(lockstep_device* d, std::int64_t handle) {
  Connection* const found = entry(d->connections, handle);
  if (found == nullptr || found->over) {
    return gone;
  }
  int const result = found->socket->ShutdownSend();
  settle();
  return result == 0 ? 0 : refused;
}

std::int64_t close(lockstep_device* d, std::int64_t handle) {
  Connection* const found = entry(d->connections, handle);
  if (found == nullptr || found->over || found->closed) {
    return gone;
  }
  found->closed = true;
  int const result = found->socket->Close();
  settle();
  return result == 0 ? 0 : refused;
}

std::int64_t set(lockstep_device* d, std::int64_t handle, const char* name, std::int64_t value) {
  Connection* const found = entry(d->connections, handle);
  if (found == nullptr || found->over) {
    return gone;
  }
  std::string_view const which = name;
  if (which == "nagle") {
    found->socket->SetAttribute("TcpNoDelay", ns3::BooleanValue(value == 0));
  } else if (which == "delayed_ack") {
    found->socket->SetAttribute("DelAckCount", ns3::UintegerValue(value == 0 ? 1 : 2));
  } else if (which == "ttl" && value >= 1 && value <= 255) {
    found->socket->SetIpTtl(static_cast<std::uint8_t>(value));
    found->socket->SetIpv6HopLimit(static_cast<std::uint8_t>(value));
  } else {
    return unsupported;
  }
  return 0;
}

std::int64_t get(lockstep_device* d, std::int64_t handle, const char* name) {
  Connection* const found = entry(d->connections, handle);
  if (found == nullptr || found->over) {
    return gone;
  }
  const auto& socket = *ns3::DynamicCast<ns3::TcpSocketBase>(found->socket);
  const ns3::TcpSocketState& control = Opened::control_of(socket);
  std::string_view const which = name;
  return which == "cwnd"       ? control.m_cWnd.Get()
         : which == "ssthresh" ? control.m_ssThresh.Get()
         : which == "snd_wnd"  ? Opened::window_of(socket)
         : which == "snd_mss"  ? control.m_segmentSize
         : which == "rto_ns"   ? Opened::timeout_of(socket).GetNanoSeconds()
         : which == "fast_recovery"
             ? (control.m_congState.Get() == ns3::TcpSocketState::CA_RECOVERY ? 1 : 0)
             : unsupported;
}

const char* state(lockstep_device* d, std::uint16_t local_port, std::uint16_t remote_port) {
  static const char* const names[] = {"CLOSED",      "LISTEN",     "SYN-SENT", "SYN-RECEIVED",
                                      "ESTABLISHED", "CLOSE-WAIT", "LAST-ACK", "FIN-WAIT-1",
                                      "FIN-WAIT-2",  "CLOSING",    "TIME-WAIT"};
  ns3::ObjectVectorValue sockets;
  d->node->GetObject<ns3::TcpL4Protocol>()->GetAttribute("SocketList", sockets);
  const char* found = "CLOSED";
  for (auto each = sockets.Begin(); each != sockets.End(); ++each) {
    auto const socket = ns3::DynamicCast<ns3::TcpSocketBase>(each->second);
    auto const now = Opened::state_of(*socket);
    ns3::Address own;
    ns3::Address peer;
    if (now == ns3::TcpSocket::CLOSED || socket->GetSockName(own) != 0 ||
        port_of(own) != local_port) {
      continue;
    }
    if (now == ns3::TcpSocket::LISTEN) {
      found = names[now];
    } else if (socket->GetPeerName(peer) == 0 && port_of(peer) == remote_port) {
      return names[now];
    }
  }
  return found;
}

const char* events(lockstep_device* d, std::int64_t handle) {
  Connection* const found = entry(d->connections, handle);
  d->told = found == nullptr ? "" : found->events;
  return d->told.c_str();
}

}  // namespace

extern "C" [[gnu::visibility("default")]] const lockstep_device_calls* lockstep_device_entry(void) {
  static const lockstep_device_calls calls{LOCKSTEP_DEVICE_VERSION,
                                           "ns3",
                                           "ns-3 " LOCKSTEP_NS3_VERSION,
                                           "ipv4 ipv6 udp deterministic branches",
                                           1,
                                           0,
                                           create,
                                           destroy,
                                           advance,
                                           deadline,
                                           packet_in,
                                           packet_out,
                                           listen,
                                           unlisten,
                                           accept,
                                           connect,
                                           send,
                                           receive,
                                           finish,
                                           close,
                                           nullptr,
                                           nullptr,
                                           set,
                                           get,
                                           state,
                                           events,
                                           nullptr,
                                           nullptr};
  return &calls;
}
