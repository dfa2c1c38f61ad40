// Lockstep on one node: its stacks, one per device, and the socket factory.
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

/// LockstepHelper aggregates it to a node.
class LockstepHost : public Object {
 public:
  static TypeId GetTypeId();

  Ptr<Node> GetNode() const;
  /// Takes over the device; aborts with a message if the device has a stack already.
  void Add(Ptr<LockstepStack> stack);
  const std::vector<Ptr<LockstepStack>>& GetStacks() const { return stacks_; }
  /// The stack of a device of this node, or null.
  Ptr<LockstepStack> GetStack(Ptr<NetDevice> device) const;
  /// The stack with the best route to `remote`, among those with the address `local` unless that is
  /// unspecified. The node's own routes decide first, then the longest prefix. Null: there is none,
  /// or several match equally well.
  Ptr<LockstepStack> Towards(const lockstep::IpAddressPair& local_and_remote) const;
  /// The stack that has this address, or null.
  Ptr<LockstepStack> OwnerOf(lockstep::IpAddress address) const;
  /// The stack of the device that the node's own routes choose for `destination`, or null.
  Ptr<LockstepStack> RoutedTo(lockstep::IpAddress destination) const;
  /// Saves the node's IPv6 routes; call it before the node's IPv6 leaves a device and its routes
  /// are lost.
  void SaveRoutes();

 protected:
  void DoInitialize() override;
  void DoDispose() override;

 private:
  struct SavedRoute {
    lockstep::IpAddress destination;
    Ptr<NetDevice> device;
  };

  std::vector<Ptr<LockstepStack>> stacks_;
  std::vector<SavedRoute> saved_routes_;  // IPv6 routes to the addresses of other nodes, sorted
  bool routes_saved_ = false;
};

/// The value of the attribute Protocol of ns-3's applications.
class LockstepSocketFactory : public SocketFactory {
 public:
  static TypeId GetTypeId();
  Ptr<Socket> CreateSocket() override;
};

}  // namespace ns3
