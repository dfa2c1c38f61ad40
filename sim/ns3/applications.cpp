// A sender of a known byte pattern and a sink that verifies it, over our sockets.
#include "sim/ns3/applications.hpp"

#include <ns3/abort.h>
#include <ns3/address-utils.h>
#include <ns3/boolean.h>
#include <ns3/inet-socket-address.h>
#include <ns3/inet6-socket-address.h>
#include <ns3/node.h>
#include <ns3/simulator.h>
#include <ns3/trace-source-accessor.h>
#include <ns3/uinteger.h>

#include <algorithm>

#include "sim/ns3/addresses.hpp"
#include "sim/ns3/host.hpp"

namespace ns3 {

NS_OBJECT_ENSURE_REGISTERED(LockstepBulkSend);
NS_OBJECT_ENSURE_REGISTERED(LockstepSink);

namespace {

using lockstep::sim::Pattern;

const Pattern& TheText() {
  static const Pattern pattern;
  return pattern;
}

Ptr<LockstepSocket> OpenSocket(Ptr<Node> node, const char* who) {
  auto const host = node->GetObject<LockstepHost>();
  NS_ABORT_MSG_IF(host == nullptr, who << ": node " << node->GetId()
                                       << " has no LockstepStack: use LockstepHelper::Install");
  return CreateObject<LockstepSocket>(host);
}

std::ostream& operator<<(std::ostream& out, const lockstep::Endpoint& endpoint) {
  Address const address = ToNs3(endpoint);
  if (InetSocketAddress::IsMatchingType(address)) {
    return out << InetSocketAddress::ConvertFrom(address).GetIpv4();
  }
  return out << Inet6SocketAddress::ConvertFrom(address).GetIpv6();
}

}  // namespace

TypeId LockstepBulkSend::GetTypeId() {
  static TypeId const tid =
      TypeId("ns3::LockstepBulkSend")
          .SetParent<Application>()
          .SetGroupName("Applications")
          .AddConstructor<LockstepBulkSend>()
          .AddAttribute("Remote", "The destination: an InetSocketAddress or an Inet6SocketAddress.",
                        AddressValue(), MakeAddressAccessor(&LockstepBulkSend::remote_),
                        MakeAddressChecker())
          .AddAttribute("MaxBytes", "Octets to send, at least 1.", UintegerValue(1'000'000),
                        MakeUintegerAccessor(&LockstepBulkSend::bytes_),
                        MakeUintegerChecker<std::uint64_t>(1))
          .AddAttribute("Text", "Which stream of the pattern: LockstepSink needs the same value.",
                        UintegerValue(0), MakeUintegerAccessor(&LockstepBulkSend::stream_),
                        MakeUintegerChecker<std::uint64_t>())
          .AddAttribute("Dscp", "The differentiated services code point.", UintegerValue(0),
                        MakeUintegerAccessor(&LockstepBulkSend::dscp_),
                        MakeUintegerChecker<std::uint8_t>(0, 63));
  return tid;
}

void LockstepBulkSend::DoDispose() {
  socket_ = nullptr;
  Application::DoDispose();
}

void LockstepBulkSend::StartApplication() {
  lockstep::Endpoint remote;
  NS_ABORT_MSG_UNLESS(ToLockstep(remote_, remote),
                      "LockstepBulkSend: the attribute Remote is neither an InetSocketAddress nor "
                      "an Inet6SocketAddress");
  NS_ABORT_MSG_IF(remote.port.value == 0,
                  "LockstepBulkSend: the attribute Remote of an application on node "
                      << GetNode()->GetId() << " has the port 0: no socket can listen there");
  socket_ = OpenSocket(GetNode(), "LockstepBulkSend");
  socket_->SetConnectCallback(MakeCallback(&LockstepBulkSend::Connected, this),
                              MakeCallback(&LockstepBulkSend::Failed, this));
  socket_->SetSendCallback(MakeCallback(&LockstepBulkSend::Writable, this));
  socket_->SetIpTos(static_cast<std::uint8_t>(dscp_ << 2));
  int const result = socket_->Connect(remote_);
  NS_ABORT_MSG_IF(result != 0 && socket_->GetErrno() == Socket::ERROR_NOROUTETOHOST,
                  "LockstepBulkSend: no route from node "
                      << GetNode()->GetId() << " to " << remote
                      << ": set one with LockstepHelper::SetGateway");
  failed_ = result != 0;
}

void LockstepBulkSend::StopApplication() {
  if (socket_ != nullptr && !finished_) {
    socket_->Close();
  }
}

void LockstepBulkSend::Connected(Ptr<Socket>) { connected_ = true; }

void LockstepBulkSend::Failed(Ptr<Socket>) { failed_ = true; }

void LockstepBulkSend::Writable(Ptr<Socket>, std::uint32_t) {
  std::uint32_t const shift = Pattern::shift_of({stream_});
  while (written_ < bytes_) {
    auto const piece =
        static_cast<std::uint32_t>(std::min(bytes_ - written_, std::uint64_t{Pattern::row_bytes}));
    auto const more = bytes_ - written_ > piece ? lockstep::More::yes : lockstep::More::no;
    std::uint32_t const taken = socket_->Write(TheText().at(shift, written_).first(piece), more);
    if (taken == 0) {
      return;
    }
    written_ += taken;
  }
  if (!finished_) {
    finished_ = true;
    socket_->ShutdownSend();
  }
}

TypeId LockstepSink::GetTypeId() {
  static TypeId const tid =
      TypeId("ns3::LockstepSink")
          .SetParent<Application>()
          .SetGroupName("Applications")
          .AddConstructor<LockstepSink>()
          .AddAttribute("Local", "Where to listen: an InetSocketAddress or an Inet6SocketAddress.",
                        AddressValue(), MakeAddressAccessor(&LockstepSink::local_),
                        MakeAddressChecker())
          .AddAttribute("Verify", "Compare received data with what LockstepBulkSend sends.",
                        BooleanValue(false), MakeBooleanAccessor(&LockstepSink::verify_),
                        MakeBooleanChecker())
          .AddAttribute("Text", "Which stream of the pattern, for all connections.",
                        UintegerValue(0), MakeUintegerAccessor(&LockstepSink::stream_),
                        MakeUintegerChecker<std::uint64_t>())
          .AddTraceSource("Rx", "The number of octets read.",
                          MakeTraceSourceAccessor(&LockstepSink::rx_trace_),
                          "ns3::LockstepSink::RxTracedCallback");
  return tid;
}

void LockstepSink::DoDispose() {
  listener_ = nullptr;
  peers_.clear();
  places_.clear();
  Application::DoDispose();
}

void LockstepSink::StartApplication() {
  listener_ = OpenSocket(GetNode(), "LockstepSink");
  NS_ABORT_MSG_IF(
      listener_->Bind(local_) != 0 || listener_->Listen() != 0,
      "LockstepSink: cannot listen at the attribute Local: it is not an address of node "
          << GetNode()->GetId() << ", or its port is 0 or taken");
  listener_->ShutdownSend();
  listener_->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                               MakeCallback(&LockstepSink::Accepted, this));
}

void LockstepSink::StopApplication() {
  if (listener_ != nullptr) {
    listener_->Close();
  }
  for (auto const& peer : peers_) {
    peer->Close();
  }
}

void LockstepSink::Accepted(Ptr<Socket> socket, const Address&) {
  socket->SetRecvCallback(MakeCallback(&LockstepSink::Readable, this));
  socket->SetCloseCallbacks(MakeCallback(&LockstepSink::PeerClosed, this),
                            MakeNullCallback<void, Ptr<Socket>>());
  places_[PeekPointer(socket)] = peers_.size();
  peers_.push_back(DynamicCast<LockstepSocket>(socket));
  offsets_.push_back(0);
}

void LockstepSink::PeerClosed(Ptr<Socket>) { ++finished_; }

void LockstepSink::Readable(Ptr<Socket> socket) {
  auto const at = places_.find(PeekPointer(socket));
  if (at == places_.end()) {
    return;
  }
  auto const& peer = peers_[at->second];
  auto& offset = offsets_[at->second];
  std::uint32_t const shift = Pattern::shift_of({stream_});
  std::uint32_t all = 0;
  for (auto octets = peer->Readable(); !octets.empty(); octets = peer->Readable()) {
    auto const piece =
        static_cast<std::uint32_t>(std::min(octets.size(), std::size_t{Pattern::row_bytes}));
    bool const right = !verify_ || TheText().matches(shift, offset, octets.first(piece));
    mistakes_ += right ? 0 : piece;
    offset += piece;
    all += piece;
    peer->Consume(piece);
  }
  first_at_ = read_ == 0 ? Simulator::Now() : first_at_;
  last_at_ = Simulator::Now();
  read_ += all;
  rx_trace_(all);
}

}  // namespace ns3
