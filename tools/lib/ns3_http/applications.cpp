// LockstepHttpServer and LockstepHttpClient: the web server and the load of tools/ inside ns-3.
#include "tools/lib/ns3_http/applications.hpp"

#include <ns3/abort.h>
#include <ns3/inet-socket-address.h>
#include <ns3/inet6-socket-address.h>
#include <ns3/node.h>
#include <ns3/simulator.h>
#include <ns3/string.h>
#include <ns3/uinteger.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <sstream>
#include <string_view>

#include "sim/ns3/addresses.hpp"
#include "sim/ns3/guest.hpp"
#include "sim/ns3/host.hpp"

namespace ns3 {

NS_OBJECT_ENSURE_REGISTERED(LockstepHttpServer);
NS_OBJECT_ENSURE_REGISTERED(LockstepHttpClient);

namespace {

namespace http = lockstep::http;
namespace load = lockstep::load;

Ptr<LockstepHost> HostOf(Ptr<Node> node, const char* who) {
  auto const host = node->GetObject<LockstepHost>();
  NS_ABORT_MSG_IF(host == nullptr, who << ": node " << node->GetId()
                                       << " has no LockstepStack: use LockstepHelper::Install");
  return host;
}

lockstep::Instant Clock() {
  return {static_cast<std::uint64_t>(Simulator::Now().GetNanoSeconds())};
}

// The length and content of a body are known only for /bytes/N.
load::Item ItemOf(const std::string& path) {
  constexpr std::string_view generated = "/bytes/";
  load::Item item;
  item.name = path;
  if (path.starts_with(generated)) {
    std::uint64_t length = 0;
    auto const* const end = path.data() + path.size();
    auto const read = std::from_chars(path.data() + generated.size(), end, length);
    if (read.ec == std::errc() && read.ptr == end) {
      item.length = length;
      item.is_pattern = true;
    }
  }
  return item;
}

std::string AuthorityOf(const Address& remote) {
  std::ostringstream text;
  if (InetSocketAddress::IsMatchingType(remote)) {
    text << InetSocketAddress::ConvertFrom(remote).GetIpv4();
  } else {
    text << '[' << Inet6SocketAddress::ConvertFrom(remote).GetIpv6() << ']';
  }
  return text.str();
}

}  // namespace

class LockstepHttpServer::Guest : public LockstepGuest {
 public:
  Guest(LockstepHttpServer& owner, Ptr<LockstepStack> stack)
      : owner_(owner),
        stack_(std::move(stack)),
        server_(owner.site_, SettingsOf(owner.port_),
                stack_->GetCore().config().tcp.connections_max) {}

  lockstep::Refusal Start() {
    auto const refusal = server_.start(stack_->GetCore());
    if (refusal == lockstep::Refusal::none) {
      stack_->Invite(*this);
    }
    return refusal;
  }
  void Stop() {
    server_.stop(stack_->GetCore(), Clock());
    stack_->Kick();
  }
  void Leave() { stack_->Dismiss(); }
  const http::ServerCounters& Counters() const { return server_.counters(); }

  bool Listens(lockstep::ListenerId listener) const override {
    return listener == server_.listener();
  }
  void HandleEvent(lockstep::Stack& stack, const lockstep::Event& event) override {
    server_.on_event(stack, event);
  }
  void Run(lockstep::Stack& stack, lockstep::Instant now) override {
    server_.run(stack, now);
    owner_.served_ = owner_.GetRequests();
  }
  lockstep::Instant Deadline() const override { return server_.deadline(); }

 private:
  static http::ServerSettings SettingsOf(std::uint16_t port) {
    http::ServerSettings settings;
    settings.port = {port};
    return settings;
  }

  LockstepHttpServer& owner_;
  Ptr<LockstepStack> stack_;
  http::Server server_;
};

LockstepHttpServer::LockstepHttpServer() = default;
LockstepHttpServer::~LockstepHttpServer() = default;

TypeId LockstepHttpServer::GetTypeId() {
  static TypeId const tid =
      TypeId("ns3::LockstepHttpServer")
          .SetParent<Application>()
          .SetGroupName("Applications")
          .AddConstructor<LockstepHttpServer>()
          .AddAttribute("Port", "The port to listen on, at every address of the node.",
                        UintegerValue(80), MakeUintegerAccessor(&LockstepHttpServer::port_),
                        MakeUintegerChecker<std::uint16_t>(1))
          .AddTraceSource("Served", "The number of requests answered, with any status.",
                          MakeTraceSourceAccessor(&LockstepHttpServer::served_),
                          "ns3::TracedValueCallback::Uint64");
  return tid;
}

bool LockstepHttpServer::AddPage(const std::string& path, const std::string& text) {
  return site_.add(path, std::as_bytes(std::span(text)));
}

std::uint64_t LockstepHttpServer::GetRequests() const {
  return std::transform_reduce(guests_.begin(), guests_.end(), std::uint64_t{0}, std::plus<>(),
                               [](const auto& guest) { return guest->Counters().requests; });
}

std::uint64_t LockstepHttpServer::GetConnections() const {
  return std::transform_reduce(guests_.begin(), guests_.end(), std::uint64_t{0}, std::plus<>(),
                               [](const auto& guest) { return guest->Counters().connections; });
}

std::uint64_t LockstepHttpServer::GetBodyOctets() const {
  return std::transform_reduce(guests_.begin(), guests_.end(), std::uint64_t{0}, std::plus<>(),
                               [](const auto& guest) { return guest->Counters().body_octets; });
}

void LockstepHttpServer::DoDispose() {
  // The stacks are destroyed with the node; the guests stop, but their counters can still be read.
  for (auto const& guest : guests_) {
    guest->Leave();
  }
  Application::DoDispose();
}

void LockstepHttpServer::StartApplication() {
  site_.complete();
  for (auto const& stack : HostOf(GetNode(), "LockstepHttpServer")->GetStacks()) {
    guests_.push_back(std::make_unique<Guest>(*this, stack));
    auto const refusal = guests_.back()->Start();
    NS_ABORT_MSG_IF(refusal != lockstep::Refusal::none,
                    "LockstepHttpServer: cannot listen at the attribute Port, "
                        << port_ << ", of node " << GetNode()->GetId() << ": "
                        << lockstep::name_of(refusal));
  }
}

void LockstepHttpServer::StopApplication() {
  for (auto const& guest : guests_) {
    guest->Stop();
  }
}

class LockstepHttpClient::Guest : public LockstepGuest {
 public:
  Guest(LockstepHttpClient& owner, Ptr<LockstepStack> stack, const load::LoadPlan& plan)
      : owner_(owner),
        stack_(std::move(stack)),
        client_(plan, owner.site_, stack_->GetCore().config().tcp.connections_max) {
    client_.start(stack_->GetCore());
    stack_->Invite(*this);
  }
  void Stop() {
    client_.stop(stack_->GetCore(), Clock());
    stack_->Kick();
  }
  void Leave() { stack_->Dismiss(); }
  const load::Client& Client() const { return client_; }

  bool Listens(lockstep::ListenerId) const override { return false; }
  void HandleEvent(lockstep::Stack& stack, const lockstep::Event& event) override {
    client_.on_event(stack, event);
  }
  void Run(lockstep::Stack& stack, lockstep::Instant now) override {
    client_.run(stack, now);
    owner_.answered_ = client_.counters().answered;
    owner_.failed_ = load::faults_of(client_.counters());
  }
  lockstep::Instant Deadline() const override { return client_.deadline(); }

 private:
  LockstepHttpClient& owner_;
  Ptr<LockstepStack> stack_;
  load::Client client_;
};

LockstepHttpClient::LockstepHttpClient() = default;
LockstepHttpClient::~LockstepHttpClient() = default;

TypeId LockstepHttpClient::GetTypeId() {
  static TypeId const tid =
      TypeId("ns3::LockstepHttpClient")
          .SetParent<Application>()
          .SetGroupName("Applications")
          .AddConstructor<LockstepHttpClient>()
          .AddAttribute("Remote", "The server: an InetSocketAddress or an Inet6SocketAddress.",
                        AddressValue(), MakeAddressAccessor(&LockstepHttpClient::remote_),
                        MakeAddressChecker())
          .AddAttribute("Path", "The path to request; every octet of /bytes/N is verified.",
                        StringValue("/bytes/100000"),
                        MakeStringAccessor(&LockstepHttpClient::path_), MakeStringChecker())
          .AddAttribute("Requests", "The number of requests, on all connections together.",
                        UintegerValue(1), MakeUintegerAccessor(&LockstepHttpClient::requests_),
                        MakeUintegerChecker<std::uint64_t>(1))
          .AddAttribute("Connections", "The largest number of connections open at once.",
                        UintegerValue(1), MakeUintegerAccessor(&LockstepHttpClient::connections_),
                        MakeUintegerChecker<std::uint32_t>(1, 1024))
          .AddAttribute("RequestsPerConnection",
                        "The number of requests after which a connection is replaced; 0: never.",
                        UintegerValue(0),
                        MakeUintegerAccessor(&LockstepHttpClient::requests_a_connection_),
                        MakeUintegerChecker<std::uint32_t>())
          .AddTraceSource("Answered", "The number of requests answered correctly and in time.",
                          MakeTraceSourceAccessor(&LockstepHttpClient::answered_),
                          "ns3::TracedValueCallback::Uint64")
          .AddTraceSource("Failed", "The number of requests that failed, for any reason.",
                          MakeTraceSourceAccessor(&LockstepHttpClient::failed_),
                          "ns3::TracedValueCallback::Uint64");
  return tid;
}

void LockstepHttpClient::DoDispose() {
  if (guest_ != nullptr) {
    guest_->Leave();
  }
  Application::DoDispose();
}

void LockstepHttpClient::StartApplication() {
  load::Target target;
  NS_ABORT_MSG_UNLESS(ToLockstep(remote_, target.endpoint),
                      "LockstepHttpClient: the attribute Remote is neither an InetSocketAddress "
                      "nor an Inet6SocketAddress");
  target.authority = AuthorityOf(remote_);
  NS_ABORT_MSG_UNLESS(path_.starts_with('/') && path_.size() <= http::Site::path_max,
                      "LockstepHttpClient: the attribute Path is '"
                          << path_ << "': it begins with / and has " << http::Site::path_max
                          << " octets at most");
  auto const stack = HostOf(GetNode(), "LockstepHttpClient")
                         ->Towards({lockstep::IpAddress{}, target.endpoint.address});
  NS_ABORT_MSG_IF(stack == nullptr, "LockstepHttpClient: no route from node "
                                        << GetNode()->GetId() << " to " << target.authority
                                        << ": set one with LockstepHelper::SetGateway");
  load::LoadPlan plan;
  plan.targets = {target};
  plan.catalogue.items = {ItemOf(path_)};
  plan.connections = connections_;
  plan.requests = requests_;
  plan.requests_a_connection = requests_a_connection_;
  plan.timeout = lockstep::Duration::seconds(600);
  site_.complete();
  guest_ = std::make_unique<Guest>(*this, stack, plan);
}

void LockstepHttpClient::StopApplication() {
  if (guest_ != nullptr && !guest_->Client().finished()) {
    guest_->Stop();
  }
}

bool LockstepHttpClient::IsFinished() const {
  return guest_ != nullptr && guest_->Client().finished();
}

std::uint64_t LockstepHttpClient::GetAnswered() const {
  return guest_ == nullptr ? 0 : guest_->Client().counters().answered;
}

std::uint64_t LockstepHttpClient::GetFailed() const {
  return guest_ == nullptr ? 0 : load::faults_of(guest_->Client().counters());
}

std::uint64_t LockstepHttpClient::GetBodyOctets() const {
  return guest_ == nullptr ? 0 : guest_->Client().counters().body_octets;
}

Time LockstepHttpClient::GetLatency(std::uint32_t percent) const {
  NS_ABORT_MSG_IF(percent > 100, "LockstepHttpClient::GetLatency: " << percent << " percent");
  return guest_ == nullptr ? Time()
                           : NanoSeconds(guest_->Client().times().latency.at({percent * 1000}).ns);
}

}  // namespace ns3
