// ns-3's Socket over the core, so that BulkSend, OnOff and PacketSink run on it unchanged.
#include "sim/ns3/socket.hpp"

#include <ns3/log.h>
#include <ns3/node.h>
#include <ns3/trace-source-accessor.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/ns3/addresses.hpp"
#include "sim/ns3/host.hpp"
#include "sim/ns3/stack.hpp"

namespace ns3 {

NS_LOG_COMPONENT_DEFINE("LockstepSocket");
NS_OBJECT_ENSURE_REGISTERED(LockstepSocket);

namespace {

constexpr std::uint32_t peek = 2;  // the value of MSG_PEEK; ns-3 does not name it

Time ToTime(lockstep::Duration duration) {
  return NanoSeconds(std::min(duration.ns, std::uint64_t{0x7fff'ffff'ffff'ffff}));
}

TcpSocket::TcpStates_t ToState(lockstep::tcp::State state) {
  using lockstep::tcp::State;
  switch (state) {
    case State::listen:
      return TcpSocket::LISTEN;
    case State::syn_sent:
      return TcpSocket::SYN_SENT;
    case State::syn_received:
      return TcpSocket::SYN_RCVD;
    case State::established:
      return TcpSocket::ESTABLISHED;
    case State::fin_wait_1:
      return TcpSocket::FIN_WAIT_1;
    case State::fin_wait_2:
      return TcpSocket::FIN_WAIT_2;
    case State::close_wait:
      return TcpSocket::CLOSE_WAIT;
    case State::closing:
      return TcpSocket::CLOSING;
    case State::last_ack:
      return TcpSocket::LAST_ACK;
    case State::time_wait:
      return TcpSocket::TIME_WAIT;
    default:
      return TcpSocket::CLOSED;
  }
}

}  // namespace

TypeId LockstepSocket::GetTypeId() {
  static TypeId const tid =
      TypeId("ns3::LockstepSocket")
          .SetParent<Socket>()
          .SetGroupName("Internet")
          .AddTraceSource("CongestionWindow", "cwnd of RFC 5681, in octets.",
                          MakeTraceSourceAccessor(&LockstepSocket::cwnd_),
                          "ns3::TracedValueCallback::Uint32")
          .AddTraceSource("SlowStartThreshold", "ssthresh of RFC 5681, in octets.",
                          MakeTraceSourceAccessor(&LockstepSocket::ssthresh_),
                          "ns3::TracedValueCallback::Uint32")
          .AddTraceSource("RTT", "SRTT of RFC 6298.",
                          MakeTraceSourceAccessor(&LockstepSocket::rtt_),
                          "ns3::TracedValueCallback::Time")
          .AddTraceSource("RTO", "RTO of RFC 6298.", MakeTraceSourceAccessor(&LockstepSocket::rto_),
                          "ns3::TracedValueCallback::Time")
          .AddTraceSource("BytesInFlight", "Octets in flight, as RFC 6675 counts them.",
                          MakeTraceSourceAccessor(&LockstepSocket::in_flight_),
                          "ns3::TracedValueCallback::Uint32")
          .AddTraceSource("State", "The state of RFC 9293.",
                          MakeTraceSourceAccessor(&LockstepSocket::state_),
                          "ns3::TcpStatesTracedValueCallback");
  return tid;
}

LockstepSocket::LockstepSocket(Ptr<LockstepHost> host) : host_(std::move(host)) {}
LockstepSocket::~LockstepSocket() = default;

void LockstepSocket::DoDispose() {
  if (stack_ != nullptr) {
    stack_->Unwatch(this);
  }
  host_ = nullptr;
  stack_ = nullptr;
  connected_or_opening_ = false;
  ears_.clear();
  Socket::DoDispose();
}

void LockstepSocket::StackGone(const LockstepStack* stack) {
  std::erase_if(ears_, [&](const Ear& ear) { return ear.stack == stack; });
  if (stack_ == stack) {
    stack_ = nullptr;
    connected_or_opening_ = false;
    established_ = false;
  }
}

Ptr<Node> LockstepSocket::GetNode() const { return host_->GetNode(); }

int LockstepSocket::Fail(enum SocketErrno error) {
  errno_ = error;
  return -1;
}

int LockstepSocket::Refused(lockstep::Refusal refusal) {
  using lockstep::Refusal;
  NS_LOG_WARN("LockstepSocket: " << lockstep::name_of(refusal));
  switch (refusal) {
    case Refusal::none:
      return 0;
    case Refusal::no_route:
      return Fail(ERROR_NOROUTETOHOST);
    case Refusal::exists:
      return Fail(ERROR_ADDRINUSE);
    case Refusal::bad_local:
    case Refusal::ports_exhausted:
      return Fail(ERROR_ADDRNOTAVAIL);
    case Refusal::no_room:
      return Fail(ERROR_AGAIN);
    case Refusal::closing:
      return Fail(ERROR_SHUTDOWN);
    case Refusal::stale_id:
      return Fail(ERROR_NOTCONN);
    default:
      return Fail(ERROR_INVAL);
  }
}

int LockstepSocket::Bind(const Address& address) {
  return ToLockstep(address, local_) ? 0 : Fail(ERROR_INVAL);
}

int LockstepSocket::Bind() {
  local_ = {};
  return 0;
}

int LockstepSocket::Bind6() { return Bind(); }

int LockstepSocket::Connect(const Address& address) {
  if (HasConnection()) {
    return Fail(ERROR_ISCONN);
  }
  if (!ToLockstep(address, remote_)) {
    return Fail(ERROR_INVAL);
  }
  stack_ = host_ == nullptr ? nullptr : host_->Towards({local_.address, remote_.address});
  if (stack_ == nullptr) {
    NS_LOG_ERROR("LockstepSocket: no route to " << address);
    return Fail(ERROR_NOROUTETOHOST);
  }
  lockstep::Open open;
  open.local = local_;
  open.remote = remote_;
  open.dscp = static_cast<std::uint8_t>(GetIpTos() >> 2);
  stack_->UpdateClock();  // needed for the initial sequence number
  auto const refusal = stack_->GetCore().connect(open, id_);
  if (refusal != lockstep::Refusal::none) {
    return Refused(refusal);
  }
  connected_or_opening_ = true;
  local_ = Inspect().tuple.local;
  stack_->Adopt(id_, this);
  if (watched_) {
    stack_->Watch(this);
  }
  stack_->Kick();
  return 0;
}

int LockstepSocket::Listen() {
  if (HasConnection() || !ears_.empty() || local_.port.value == 0 || host_ == nullptr) {
    return Fail(ERROR_INVAL);
  }
  for (auto const& stack : host_->GetStacks()) {
    if (!local_.address.is_unspecified() && !stack->Owns(local_.address)) {
      continue;
    }
    lockstep::Local local;
    local.address = local_.address.is_unspecified() ? lockstep::IpAddress{} : local_.address;
    local.port = local_.port;
    Ear ear{stack, {}};
    auto const refusal = stack->GetCore().listen(local, {}, ear.id);
    if (refusal != lockstep::Refusal::none) {
      return Refused(refusal);
    }
    stack->Listens(ear.id, this);
    ears_.push_back(ear);
  }
  return ears_.empty() ? Fail(ERROR_ADDRNOTAVAIL) : 0;
}

Ptr<LockstepSocket> LockstepSocket::Fork(Ptr<LockstepStack> stack, lockstep::ConnectionId id) {
  auto const socket = CreateObject<LockstepSocket>(host_);
  auto const info = stack->GetCore().inspect(id);
  socket->stack_ = std::move(stack);
  socket->id_ = id;
  socket->local_ = info.tuple.local;
  socket->remote_ = info.tuple.remote;
  socket->connected_or_opening_ = true;
  socket->established_ = true;
  // As in ns-3: shutdown of the listener applies to accepted sockets, which close when the peer
  // does.
  socket->shut_send_ = shut_send_;
  socket->shut_receive_ = shut_receive_;
  return socket;
}

void LockstepSocket::Accepted(Ptr<LockstepSocket> socket) {
  Address const from = ToNs3(socket->remote_);
  if (NotifyConnectionRequest(from)) {
    NotifyNewConnectionCreated(socket, from);
  } else {
    socket->Abort();
  }
}

int LockstepSocket::Close() {
  for (auto const& ear : ears_) {
    ear.stack->Forget(ear.id);
    if (ear.stack->GetCore().unlisten(ear.id) != lockstep::Refusal::none) {
      errno_ = ERROR_BADF;
    }
  }
  ears_.clear();
  if (!HasConnection()) {
    return 0;
  }
  shut_send_ = true;
  auto const refusal = stack_->GetCore().close(id_);
  close_owed_ = refusal == lockstep::Refusal::no_room;
  stack_->Kick();
  return refusal == lockstep::Refusal::none || close_owed_ ? 0 : Refused(refusal);
}

int LockstepSocket::ShutdownSend() {
  shut_send_ = true;
  if (!HasConnection()) {
    return 0;
  }
  auto const refusal = stack_->GetCore().finish(id_);
  finish_pending_ = refusal == lockstep::Refusal::no_room;
  stack_->Kick();
  return refusal == lockstep::Refusal::none || finish_pending_ ? 0 : Refused(refusal);
}

int LockstepSocket::ShutdownRecv() {
  shut_receive_ = true;
  return 0;
}

void LockstepSocket::Abort() {
  if (HasConnection()) {
    stack_->GetCore().abort(id_);
    stack_->Kick();
  }
}

std::uint32_t LockstepSocket::GetTxAvailable() const {
  return HasConnection() && !shut_send_ ? stack_->GetCore().writable(id_).count : 0;
}

std::uint32_t LockstepSocket::Write(std::span<const std::byte> octets, lockstep::More more) {
  if (!HasConnection() || shut_send_) {
    return 0;
  }
  auto const taken = stack_->GetCore().write(id_, octets, more);
  if (!taken.bytes.empty()) {
    stack_->Kick();
  }
  return taken.bytes.count;
}

int LockstepSocket::Send(Ptr<Packet> packet, std::uint32_t) {
  if (shut_send_) {
    return Fail(ERROR_SHUTDOWN);
  }
  if (!HasConnection()) {
    return Fail(ERROR_NOTCONN);
  }
  std::uint32_t const size = packet->GetSize();
  if (size > GetTxAvailable()) {
    return Fail(ERROR_MSGSIZE);
  }
  if (scratch_.size() < size) {
    scratch_.resize(size);
  }
  packet->CopyData(reinterpret_cast<std::uint8_t*>(scratch_.data()), size);
  std::uint32_t const taken = Write(std::span(scratch_).first(size));
  return taken == 0 && size != 0 ? Fail(ERROR_AGAIN) : static_cast<int>(taken);
}

int LockstepSocket::SendTo(Ptr<Packet> packet, std::uint32_t flags, const Address&) {
  return Send(std::move(packet), flags);
}

std::uint32_t LockstepSocket::GetRxAvailable() const {
  return HasConnection() ? stack_->GetCore().unread(id_).count : 0;
}

std::span<const std::byte> LockstepSocket::Readable() const {
  return HasConnection() ? stack_->GetCore().readable(id_) : std::span<const std::byte>{};
}

void LockstepSocket::Consume(std::uint32_t octets) {
  if (HasConnection() && octets != 0) {
    stack_->GetCore().consume(id_, lockstep::Bytes{octets});
    stack_->Kick();
  }
}

Ptr<Packet> LockstepSocket::Recv(std::uint32_t size, std::uint32_t flags) {
  auto const octets = Readable();
  auto const length = static_cast<std::uint32_t>(std::min<std::size_t>(octets.size(), size));
  if (length == 0) {
    // As in ns-3: an empty packet is the end of the stream.
    return peer_finished_ ? Create<Packet>() : nullptr;
  }
  auto const packet = Create<Packet>(reinterpret_cast<const std::uint8_t*>(octets.data()), length);
  if ((flags & peek) == 0) {
    Consume(length);
  }
  return packet;
}

Ptr<Packet> LockstepSocket::RecvFrom(std::uint32_t size, std::uint32_t flags, Address& from) {
  auto const packet = Recv(size, flags);
  if (packet != nullptr && packet->GetSize() != 0) {
    from = ToNs3(remote_);
  }
  return packet;
}

int LockstepSocket::GetSockName(Address& address) const {
  address = ToNs3(HasConnection() ? Inspect().tuple.local : local_);
  return 0;
}

int LockstepSocket::GetPeerName(Address& address) const {
  if (!HasConnection()) {
    return -1;
  }
  address = ToNs3(remote_);
  return 0;
}

lockstep::ConnectionInfo LockstepSocket::Inspect() const {
  return HasConnection() ? stack_->GetCore().inspect(id_) : lockstep::ConnectionInfo{};
}

void LockstepSocket::HandleEvent(const lockstep::Event& event) {
  using lockstep::EventKind;
  Ptr<LockstepSocket> const alive(this);
  switch (event.kind) {
    case EventKind::connected:
      established_ = true;
      NotifyConnectionSucceeded();
      if (GetTxAvailable() != 0) {
        NotifySend(GetTxAvailable());
      }
      break;
    case EventKind::received:
      if (shut_receive_) {
        Consume(GetRxAvailable());
      } else {
        NotifyDataRecv();
      }
      break;
    case EventKind::acknowledged:
    case EventKind::room:
      if (event.kind == EventKind::acknowledged) {
        NotifyDataSent(event.bytes.count);
      }
      if (close_owed_) {
        Close();
      } else if (finish_pending_) {
        ShutdownSend();
      } else if (GetTxAvailable() != 0) {
        NotifySend(GetTxAvailable());
      }
      break;
    case EventKind::peer_finished:
      PeerFinished();
      break;
    case EventKind::closed:
      TellClosed(event.cause);
      break;
    default:
      break;
  }
}

void LockstepSocket::PeerFinished() {
  peer_finished_ = true;
  if (!close_told_) {
    close_told_ = true;
    NotifyNormalClose();
  }
  if (shut_send_ && HasConnection() && !close_owed_) {
    auto const refusal = stack_->GetCore().finish(id_);
    finish_pending_ = refusal == lockstep::Refusal::no_room;
  }
}

void LockstepSocket::TellClosed(lockstep::Cause cause) {
  connected_or_opening_ = false;
  bool const was_established = std::exchange(established_, false);
  if (cause == lockstep::Cause::finished) {
    if (!std::exchange(close_told_, true)) {
      NotifyNormalClose();
    }
    return;
  }
  errno_ = ERROR_NOTCONN;
  if (!was_established) {
    NotifyConnectionFailed();
  } else if (!std::exchange(close_told_, true)) {
    NotifyErrorClose();
  }
}

void LockstepSocket::Watch() {
  watched_ = true;
  if (HasConnection()) {
    stack_->Watch(this);
  }
}

void LockstepSocket::Sample() {
  auto const info = Inspect();
  if (!info.exists) {
    // The state of the connection that the stack keeps until its last segments have expired.
    state_.Set(HasConnection() ? ToState(stack_->GetCore().state_of({local_, remote_}))
                               : TcpSocket::CLOSED);
    return;
  }
  state_.Set(ToState(info.state));
  cwnd_.Set(info.cwnd.count);
  ssthresh_.Set(info.ssthresh.count);
  rtt_.Set(ToTime(info.srtt));
  rto_.Set(ToTime(info.rto));
  in_flight_.Set(info.pipe.count);
}

}  // namespace ns3
