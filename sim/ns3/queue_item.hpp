// A packet of the core in an ns-3 queue disc.
#pragma once

#include <ns3/address.h>
#include <ns3/packet.h>
#include <ns3/ptr.h>
#include <ns3/queue-item.h>

#include <cstdint>

namespace ns3 {

/// The packet already contains its headers. Queue discs can mark it and hash its flow.
class LockstepQueueItem : public QueueDiscItem {
 public:
  /// `packet` begins with its IP header, `to` is the next hop, `protocol` the EtherType.
  LockstepQueueItem(Ptr<Packet> packet, const Address& to, std::uint16_t protocol)
      : QueueDiscItem(packet, to, protocol) {}
  /// Does nothing: the header is there.
  void AddHeader() override {}
  /// Sets CE if the packet is ECT; false if it is not.
  bool Mark() override;
  /// A hash of the five-tuple.
  std::uint32_t Hash(std::uint32_t perturbation) const override;
};

}  // namespace ns3
