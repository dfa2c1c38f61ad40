// Lockstep on one node: its stacks, one per device, and the socket factory.
#include "sim/ns3/host.hpp"

#include <ns3/abort.h>
#include <ns3/ipv6.h>
#include <ns3/node.h>
#include <ns3/object-vector.h>

#include <algorithm>

#include "sim/ns3/gateways.hpp"
#include "sim/ns3/socket.hpp"

namespace ns3 {

NS_OBJECT_ENSURE_REGISTERED(LockstepHost);
NS_OBJECT_ENSURE_REGISTERED(LockstepSocketFactory);

TypeId LockstepHost::GetTypeId() {
  static TypeId const tid =
      TypeId("ns3::LockstepHost")
          .SetParent<Object>()
          .SetGroupName("Internet")
          .AddConstructor<LockstepHost>()
          .AddAttribute("StackList", "The stacks of this node, one per device.",
                        ObjectVectorValue(), MakeObjectVectorAccessor(&LockstepHost::stacks_),
                        MakeObjectVectorChecker<LockstepStack>());
  return tid;
}

Ptr<Node> LockstepHost::GetNode() const { return GetObject<Node>(); }

void LockstepHost::Add(Ptr<LockstepStack> stack) {
  auto const device = stack->GetDevice();
  NS_ABORT_MSG_IF(GetStack(device) != nullptr,
                  "LockstepHelper: device " << device->GetIfIndex() << " of node "
                                            << device->GetNode()->GetId()
                                            << " has a LockstepStack already: two stacks on one "
                                            << "device");
  stacks_.push_back(stack);
}

Ptr<LockstepStack> LockstepHost::GetStack(Ptr<NetDevice> device) const {
  auto const at =
      std::ranges::find_if(stacks_, [&](const auto& each) { return each->GetDevice() == device; });
  return at == stacks_.end() ? nullptr : *at;
}

Ptr<LockstepStack> LockstepHost::Towards(const lockstep::IpAddressPair& local_and_remote) const {
  auto const& [local, remote] = local_and_remote;
  auto const fits = [&](const LockstepStack& stack) {
    return local.is_unspecified() || stack.Owns(local);
  };
  auto const routed = stacks_.size() > 1 ? RoutedTo(remote) : nullptr;
  if (routed != nullptr && fits(*routed) && routed->MatchLength(remote) >= 0) {
    return routed;
  }
  Ptr<LockstepStack> best;
  std::int32_t nearest = -1;
  for (auto const& stack : stacks_) {
    std::int32_t const near = fits(*stack) ? stack->MatchLength(remote) : -1;
    if (near > nearest) {
      best = stack;
      nearest = near;
    } else if (near == nearest) {
      best = nullptr;  // ambiguous
    }
  }
  return best;
}

Ptr<LockstepStack> LockstepHost::OwnerOf(lockstep::IpAddress address) const {
  auto const at =
      std::ranges::find_if(stacks_, [&](const auto& each) { return each->Owns(address); });
  return at == stacks_.end() ? nullptr : *at;
}

Ptr<LockstepStack> LockstepHost::RoutedTo(lockstep::IpAddress destination) const {
  auto device = NextHopTo(GetNode(), nullptr, destination).device;
  if (device == nullptr && routes_saved_) {
    auto const at =
        std::ranges::lower_bound(saved_routes_, destination, {}, &SavedRoute::destination);
    device = at != saved_routes_.end() && at->destination == destination ? at->device : nullptr;
  }
  return device == nullptr ? nullptr : GetStack(device);
}

void LockstepHost::SaveRoutes() {
  if (routes_saved_ || stacks_.size() < 2 || GetNode()->GetObject<Ipv6>() == nullptr) {
    return;
  }
  routes_saved_ = true;
  for (auto const& other : AddressesOfOthers(GetNode())) {
    auto const device =
        other.address.is_v4() ? nullptr : NextHopTo(GetNode(), nullptr, other.address).device;
    if (device != nullptr) {
      saved_routes_.push_back({other.address, device});
    }
  }
  std::ranges::sort(saved_routes_, {}, &SavedRoute::destination);
}

void LockstepHost::DoInitialize() {
  for (auto const& stack : stacks_) {
    stack->Initialize();
  }
  Object::DoInitialize();
}

void LockstepHost::DoDispose() {
  for (auto const& stack : stacks_) {
    stack->Dispose();
  }
  stacks_.clear();
  saved_routes_.clear();
  Object::DoDispose();
}

TypeId LockstepSocketFactory::GetTypeId() {
  static TypeId const tid = TypeId("ns3::LockstepSocketFactory")
                                .SetParent<SocketFactory>()
                                .SetGroupName("Internet")
                                .AddConstructor<LockstepSocketFactory>();
  return tid;
}

Ptr<Socket> LockstepSocketFactory::CreateSocket() {
  return CreateObject<LockstepSocket>(GetObject<LockstepHost>());
}

}  // namespace ns3
