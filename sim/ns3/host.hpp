// What Lockstep is to a node: its stacks, one a device, and the factory of its sockets.
#pragma once

#include <ns3/net-device.h>
#include <ns3/object.h>
#include <ns3/ptr.h>
#include <ns3/socket-factory.h>
#include <ns3/type-id.h>

#include <vector>

#include "core/units/address.hpp"
#include "sim/ns3/stack.hpp"

namespace ns3 {

class Node;
class Socket;

/// Aggregated to a node by LockstepHelper.
class LockstepHost : public Object {
 public:
  static TypeId GetTypeId();

  Ptr<Node> GetNode() const;
  /// Takes the device over. Stops with a line if it has a stack already.
  void Add(Ptr<LockstepStack> stack);
  const std::vector<Ptr<LockstepStack>>& GetStacks() const { return stacks_; }
  /// Of a device of this node, or null.
  Ptr<LockstepStack> GetStack(Ptr<NetDevice> device) const;
  /// The stack that has a way to `remote`, and that has the address `local` unless it is
  /// unspecified: of several that of the device which the node's own routes name; null: there is
  /// none, or several without a word of the routes.
  Ptr<LockstepStack> Towards(const lockstep::IpAddressPair& local_and_remote) const;
  /// The stack that has this address, or null.
  Ptr<LockstepStack> OwnerOf(lockstep::IpAddress address) const;
  /// The stack of the device by which the node's own routes lead there, or null.
  Ptr<LockstepStack> RoutedTo(lockstep::IpAddress destination) const;
  /// Before the node's IPv6 leaves a device, and with it the routes.
  void KeepWays();

 protected:
  void DoInitialize() override;
  void DoDispose() override;

 private:
  struct Way {
    lockstep::IpAddress destination;
    Ptr<NetDevice> device;
  };

  std::vector<Ptr<LockstepStack>> stacks_;
  std::vector<Way> ways_;  // of IPv6, to the addresses of others, sorted
  bool ways_kept_ = false;
};

/// For the attribute Protocol of ns-3's applications.
class LockstepSocketFactory : public SocketFactory {
 public:
  static TypeId GetTypeId();
  Ptr<Socket> CreateSocket() override;
};

}  // namespace ns3
