// A packet of the core in an ns-3 queue disc.
#include "sim/ns3/queue_item.hpp"

#include <array>
#include <cstddef>
#include <span>

#include "core/units/hash.hpp"
#include "core/wire/octets.hpp"
#include "sim/bus/ecn_mark.hpp"

namespace ns3 {
namespace {

// An IPv4 header with options or an IPv6 header, and the ports.
constexpr std::uint32_t head_max = 64;

struct Head {
  std::array<std::byte, head_max> octets{};
  std::uint32_t length = 0;
};

Head HeadOf(const Packet& packet) {
  Head head;
  head.length = packet.CopyData(reinterpret_cast<std::uint8_t*>(head.octets.data()), head_max);
  return head;
}

}  // namespace

bool LockstepQueueItem::Mark() {
  Head head = HeadOf(*GetPacket());
  if (!lockstep::sim::mark_congestion(std::span(head.octets).first(head.length), 0)) {
    return false;
  }
  auto const marked =
      Create<Packet>(reinterpret_cast<const std::uint8_t*>(head.octets.data()), head.length);
  auto const packet = GetPacket();
  packet->RemoveAtStart(head.length);
  marked->AddAtEnd(packet);
  packet->RemoveAtStart(packet->GetSize());
  packet->AddAtEnd(marked);
  return true;
}

std::uint32_t LockstepQueueItem::Hash(std::uint32_t perturbation) const {
  Head const head = HeadOf(*GetPacket());
  bool const v6 = std::to_integer<std::uint32_t>(head.octets[0]) >> 4 == 6;
  std::uint32_t const addresses = v6 ? 8 : 12;
  std::uint32_t const ports = v6 ? 40 : (std::to_integer<std::uint32_t>(head.octets[0]) & 15) * 4;
  std::uint32_t const protocol = std::to_integer<std::uint32_t>(head.octets[v6 ? 6 : 9]);
  lockstep::SipHash<1, 3> hash({perturbation, protocol});
  for (std::uint32_t at = addresses; at < (v6 ? 40u : 20u); at += 4) {
    hash.add(lockstep::wire::load32(head.octets.data() + at));
  }
  constexpr std::uint32_t last_port = head_max - 4;
  hash.add(lockstep::wire::load32(head.octets.data() + (ports < last_port ? ports : last_port)));
  return static_cast<std::uint32_t>(hash.finish());
}

}  // namespace ns3
