// A packet of the core in a queue disc of ns-3.
#pragma once

#include <ns3/address.h>
#include <ns3/packet.h>
#include <ns3/ptr.h>
#include <ns3/queue-item.h>

#include <cstdint>

namespace ns3 {

/// Its headers are in the packet already. Queue discs may mark it, and tell flows apart by it.
class LockstepQueueItem : public QueueDiscItem {
 public:
  LockstepQueueItem(Ptr<Packet> packet, const Address& to, std::uint16_t protocol)
      : QueueDiscItem(packet, to, protocol) {}
  void AddHeader() override {}
  /// Sets CE on a packet that is ECT; false: it is not.
  bool Mark() override;
  /// Of the five-tuple.
  std::uint32_t Hash(std::uint32_t perturbation) const override;
};

}  // namespace ns3
