// Installs stacks on the devices of nodes, in the manner of ns-3's helpers.
#pragma once

#include <ns3/attribute.h>
#include <ns3/ipv4-address.h>
#include <ns3/ipv6-address.h>
#include <ns3/net-device-container.h>
#include <ns3/node-container.h>
#include <ns3/object-factory.h>
#include <ns3/ptr.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/ns3/host.hpp"
#include "sim/ns3/stack.hpp"

namespace ns3 {

/// On nodes with an InternetStack whose devices have addresses, Install() takes over those devices
/// and addresses. On nodes without one, set addresses and gateways here.
class LockstepHelper {
 public:
  LockstepHelper();

  /// The profile of the stacks: default, rfc, linux or freebsd. Without a profile the attribute
  /// defaults (Config::SetDefault) apply; after this call they do not.
  void SetProfile(const std::string& name);
  /// Sets an attribute of LockstepStack for stacks installed later; overrides the profile.
  void Set(const std::string& name, const AttributeValue& value);

  void Install(Ptr<Node> node) const;
  void Install(const NodeContainer& nodes) const;
  void InstallAll() const;

  /// The stack of a device, created if there is none: for nodes without an InternetStack.
  Ptr<LockstepStack> Install(Ptr<NetDevice> device) const;
  /// An IPv4 or IPv6 address with its prefix length: "10.1.1.1/24", "2001:db8::1/64".
  Ptr<LockstepStack> AddAddress(Ptr<NetDevice> device, const std::string& address) const;
  /// Sets the default route.
  void SetGateway(Ptr<NetDevice> device, Ipv4Address gateway) const;
  void SetGateway(Ptr<NetDevice> device, Ipv6Address gateway) const;

  /// Assigns one stream to each stack of the nodes; returns the number of streams used.
  std::int64_t AssignStreams(const NodeContainer& nodes, std::int64_t stream) const;

  static Ptr<LockstepStack> GetStack(Ptr<NetDevice> device);

 private:
  Ptr<LockstepStack> Make(Ptr<NetDevice> device) const;
  void TakeOver(Ptr<NetDevice> device) const;

  std::string profile_ = "default";
  std::vector<std::pair<std::string, Ptr<AttributeValue>>> attributes_;
};

}  // namespace ns3
