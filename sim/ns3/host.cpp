// What Lockstep is to a node: its stacks, one a device, and the factory of its sockets.
#include "sim/ns3/host.hpp"

#include <ns3/abort.h>
#include <ns3/node.h>
#include <ns3/object-vector.h>

#include <algorithm>

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
          .AddAttribute("StackList", "The stacks of this node, one a device.",
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
  auto const at = std::ranges::find_if(
      stacks_, [&](const auto& each) { return each->GetDevice() == device; });
  return at == stacks_.end() ? nullptr : *at;
}

Ptr<LockstepStack> LockstepHost::Towards(const lockstep::IpAddressPair& local_and_remote) const {
  auto const& [local, remote] = local_and_remote;
  Ptr<LockstepStack> best;
  for (auto const& stack : stacks_) {
    bool const fits = local.is_unspecified() || stack->Owns(local);
    std::int32_t const nearest = best == nullptr ? -1 : best->Nearness(remote);
    if (fits && stack->Nearness(remote) > nearest) {
      best = stack;
    }
  }
  return best;
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
