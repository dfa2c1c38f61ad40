// Puts stacks on the devices of nodes, as ns-3's helpers do.
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

/// On nodes that have an InternetStack whose devices have addresses, Install() takes over those
/// devices with their addresses. On nodes without one, addresses and gateways are given here.
class LockstepHelper {
 public:
  LockstepHelper();

  /// What the stacks begin with: default, rfc, linux or freebsd. Before it, the defaults of the
  /// attributes hold (Config::SetDefault); after another profile was named, they do not.
  void SetProfile(const std::string& name);
  /// An attribute of LockstepStack, for the stacks installed from here on, after the profile.
  void Set(const std::string& name, const AttributeValue& value);

  void Install(Ptr<Node> node) const;
  void Install(const NodeContainer& nodes) const;
  void InstallAll() const;

  /// The stack of a device, made if there is none: for nodes without an InternetStack.
  Ptr<LockstepStack> Install(Ptr<NetDevice> device) const;
  /// Of either family, with the length of its prefix: "10.1.1.1/24", "2001:db8::1/64".
  Ptr<LockstepStack> AddAddress(Ptr<NetDevice> device, const std::string& address) const;
  /// The default route.
  void SetGateway(Ptr<NetDevice> device, Ipv4Address gateway) const;
  void SetGateway(Ptr<NetDevice> device, Ipv6Address gateway) const;

  /// One stream for each stack of the nodes; how many were used.
  std::int64_t AssignStreams(const NodeContainer& nodes, std::int64_t stream) const;

  static Ptr<LockstepStack> GetStack(Ptr<NetDevice> device);

 private:
  Ptr<LockstepStack> Make(Ptr<NetDevice> device) const;
  void TakeOver(Ptr<NetDevice> device) const;

  std::string profile_ = "default";
  std::vector<std::pair<std::string, Ptr<AttributeValue>>> attributes_;
};

}  // namespace ns3
