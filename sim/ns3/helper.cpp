// Installs stacks on the devices of nodes, in the manner of ns-3's helpers.
#include "sim/ns3/helper.hpp"

#include <ns3/abort.h>
#include <ns3/boolean.h>
#include <ns3/global-value.h>
#include <ns3/ipv4.h>
#include <ns3/ipv6.h>
#include <ns3/loopback-net-device.h>
#include <ns3/node.h>

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "sim/ns3/addresses.hpp"

namespace ns3 {
namespace {

lockstep::Config ProfileOf(const std::string& name) {
  if (name == "rfc") {
    return lockstep::profile_rfc();
  }
  if (name == "linux") {
    return lockstep::profile_linux();
  }
  if (name == "freebsd") {
    return lockstep::profile_freebsd();
  }
  NS_ABORT_MSG_IF(name != "default", "LockstepHelper: no profile is called '"
                                         << name << "': use default, rfc, linux or freebsd");
  return {};
}

// Takes the addresses of the node's own Ipv4 on the device; false: there are none.
bool TakeIpv4(Ptr<Ipv4> ipv4, LockstepStack& stack) {
  std::int32_t const interface =
      ipv4 == nullptr ? -1 : ipv4->GetInterfaceForDevice(stack.GetDevice());
  if (interface < 0) {
    return false;
  }
  auto const index = static_cast<std::uint32_t>(interface);
  for (std::uint32_t i = 0; i < ipv4->GetNAddresses(index); ++i) {
    auto const address = ipv4->GetAddress(index, i);
    stack.AddAddress({ToLockstep(address.GetLocal()),
                      static_cast<std::uint8_t>(address.GetMask().GetPrefixLength())});
  }
  return ipv4->GetNAddresses(index) != 0;
}

bool TakeIpv6(Ptr<Ipv6> ipv6, LockstepStack& stack) {
  std::int32_t const interface =
      ipv6 == nullptr ? -1 : ipv6->GetInterfaceForDevice(stack.GetDevice());
  if (interface < 0) {
    return false;
  }
  auto const index = static_cast<std::uint32_t>(interface);
  bool found = false;
  for (std::uint32_t i = 0; i < ipv6->GetNAddresses(index); ++i) {
    auto const address = ipv6->GetAddress(index, i);
    if (!address.GetAddress().IsLinkLocal()) {
      stack.AddAddress({ToLockstep(address.GetAddress()), address.GetPrefix().GetPrefixLength()});
      found = true;
    }
  }
  return found;
}

// Parses an IPv4 or IPv6 address with its prefix length.
bool ReadPrefix(const std::string& text, lockstep::HostAddress& out) {
  auto const slash = std::min(text.find('/'), text.size());
  std::string const address = text.substr(0, slash);
  const char* const end = text.data() + text.size();
  std::uint32_t bits = 0;
  auto const read = std::from_chars(std::min(text.data() + slash + 1, end), end, bits);
  std::array<std::uint8_t, 16> octets{};
  bool const v4 = ::inet_pton(AF_INET, address.c_str(), octets.data()) == 1;
  bool const v6 = !v4 && ::inet_pton(AF_INET6, address.c_str(), octets.data()) == 1;
  if (read.ec != std::errc{} || read.ptr != end || !(v4 || v6) || bits > (v4 ? 32u : 128u)) {
    return false;
  }
  out = {v4 ? ToLockstep(Ipv4Address::Deserialize(octets.data()))
            : ToLockstep(Ipv6Address(octets.data())),
         static_cast<std::uint8_t>(bits)};
  return true;
}

}  // namespace

LockstepHelper::LockstepHelper() {
  // Otherwise ns-3 sends segments with empty checksums and accepts wrong ones.
  GlobalValue::Bind("ChecksumEnabled", BooleanValue(true));
}

void LockstepHelper::SetProfile(const std::string& name) {
  static_cast<void>(ProfileOf(name));
  profile_ = name;
}

void LockstepHelper::Set(const std::string& name, const AttributeValue& value) {
  attributes_.emplace_back(name, value.Copy());
}

Ptr<LockstepStack> LockstepHelper::Make(Ptr<NetDevice> device) const {
  auto const stack = CreateObject<LockstepStack>();
  if (profile_ != "default") {
    stack->Fields() = ProfileOf(profile_);
    stack->Fields().tcp.mss = {};  // as large as the MTU allows
  }
  for (auto const& [name, value] : attributes_) {
    stack->SetAttribute(name, *value);
  }
  stack->SetDevice(device);
  return stack;
}

Ptr<LockstepStack> LockstepHelper::Install(Ptr<NetDevice> device) const {
  auto const node = device->GetNode();
  auto host = node->GetObject<LockstepHost>();
  if (host == nullptr) {
    host = CreateObject<LockstepHost>();
    node->AggregateObject(host);
    node->AggregateObject(CreateObject<LockstepSocketFactory>());
  }
  NS_ABORT_MSG_IF(host->GetStack(device) != nullptr,
                  "LockstepHelper: device " << device->GetIfIndex() << " of node " << node->GetId()
                                            << " has a LockstepStack already: two stacks on one "
                                            << "device");
  auto const stack = Make(device);
  host->Add(stack);
  return stack;
}

void LockstepHelper::TakeOver(Ptr<NetDevice> device) const {
  auto const node = device->GetNode();
  auto const stack = Install(device);
  bool const v4 = TakeIpv4(node->GetObject<Ipv4>(), *stack);
  bool const v6 = TakeIpv6(node->GetObject<Ipv6>(), *stack);
  NS_ABORT_MSG_UNLESS(v4 || v6, "LockstepHelper: device "
                                    << device->GetIfIndex() << " of node " << node->GetId()
                                    << " has no address: assign it before Install, or use "
                                    << "LockstepHelper::AddAddress");
}

void LockstepHelper::Install(Ptr<Node> node) const {
  NS_ABORT_MSG_IF(node->GetNDevices() == 0,
                  "LockstepHelper: node " << node->GetId() << " has no device to install on");
  for (std::uint32_t i = 0; i < node->GetNDevices(); ++i) {
    auto const device = node->GetDevice(i);
    if (DynamicCast<LoopbackNetDevice>(device) == nullptr) {
      TakeOver(device);
    }
  }
}

void LockstepHelper::Install(const NodeContainer& nodes) const {
  for (auto node = nodes.Begin(); node != nodes.End(); ++node) {
    Install(*node);
  }
}

void LockstepHelper::InstallAll() const { Install(NodeContainer::GetGlobal()); }

Ptr<LockstepStack> LockstepHelper::GetStack(Ptr<NetDevice> device) {
  auto const host = device->GetNode()->GetObject<LockstepHost>();
  return host == nullptr ? nullptr : host->GetStack(device);
}

Ptr<LockstepStack> LockstepHelper::AddAddress(Ptr<NetDevice> device,
                                              const std::string& address) const {
  lockstep::HostAddress parsed;
  NS_ABORT_MSG_UNLESS(ReadPrefix(address, parsed), "LockstepHelper::AddAddress: '"
                                                       << address << "' is not an address with "
                                                       << "a prefix length, like 10.1.1.1/24");
  auto const there = GetStack(device);
  auto const stack = there != nullptr ? there : Install(device);
  stack->AddAddress(parsed);
  return stack;
}

void LockstepHelper::SetGateway(Ptr<NetDevice> device, Ipv4Address gateway) const {
  auto const stack = GetStack(device);
  NS_ABORT_MSG_IF(stack == nullptr, "LockstepHelper::SetGateway: no stack is on that device");
  stack->AddRoute({ToLockstep(Ipv4Address::GetAny()), ToLockstep(gateway), 0});
}

void LockstepHelper::SetGateway(Ptr<NetDevice> device, Ipv6Address gateway) const {
  auto const stack = GetStack(device);
  NS_ABORT_MSG_IF(stack == nullptr, "LockstepHelper::SetGateway: no stack is on that device");
  stack->AddRoute({ToLockstep(Ipv6Address::GetAny()), ToLockstep(gateway), 0});
}

std::int64_t LockstepHelper::AssignStreams(const NodeContainer& nodes, std::int64_t stream) const {
  std::int64_t used = 0;
  for (auto node = nodes.Begin(); node != nodes.End(); ++node) {
    auto const host = (*node)->GetObject<LockstepHost>();
    for (std::size_t i = 0; host != nullptr && i < host->GetStacks().size(); ++i) {
      host->GetStacks()[i]->SetStream(stream + used);
      ++used;
    }
  }
  return used;
}

}  // namespace ns3
