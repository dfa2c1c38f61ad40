// Two ns-3 nodes on a channel without delay, with a port of our stack at one end.
#include "tools/lib/ns3_ports/line.hpp"

#include <ns3/mac48-address.h>
#include <ns3/net-device-container.h>
#include <ns3/node-container.h>
#include <ns3/simple-net-device-helper.h>
#include <ns3/simulator.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/units/check.hpp"

namespace lockstep::tools {
namespace {

constexpr std::uint32_t header_bytes = 14;
constexpr std::uint16_t mtu_max = 65'535;

std::uint32_t lines_alive = 0;

ns3::Mac48Address mac_at(std::span<const std::byte> octets) {
  ns3::Mac48Address mac;
  mac.CopyFrom(reinterpret_cast<const std::uint8_t*>(octets.data()));
  return mac;
}

ns3::Ptr<ns3::Packet> packet_of(std::span<const std::byte> octets) {
  return ns3::Create<ns3::Packet>(reinterpret_cast<const std::uint8_t*>(octets.data()),
                                  static_cast<std::uint32_t>(octets.size()));
}

}  // namespace

Ns3Line::Ns3Line(const Config& config) : ethernet_(config.link == LinkType::ethernet) {
  ++lines_alive;
  ns3::NodeContainer const nodes(2);
  ns3::SimpleNetDeviceHelper helper;
  helper.SetNetDevicePointToPointMode(!ethernet_);
  ns3::NetDeviceContainer const devices = helper.Install(nodes);
  ns3::Mac48Address own;
  own.CopyFrom(config.mac.octets.data());
  if (ethernet_) {
    devices.Get(0)->SetAddress(own);
  }
  far_ = devices.Get(1);
  far_->SetReceiveCallback(ns3::MakeCallback(&Ns3Line::mute, this));
  far_->SetPromiscReceiveCallback(ns3::MakeCallback(&Ns3Line::left, this));
  for (std::uint32_t i = 0; i < 2; ++i) {
    CHECK(devices.Get(i)->SetMtu(mtu_max));
  }
  stack_ = ns3::CreateObject<ns3::LockstepStack>();
  stack_->Fields() = config;
  stack_->SetDevice(devices.Get(0));
  CHECK(stack_->Fields().link == config.link);
  port_ = &stack_->LendPort();
}

Ns3Line::~Ns3Line() {
  stack_->Dispose();
  if (--lines_alive == 0) {
    ns3::Simulator::Destroy();
  }
}

void Ns3Line::advance(Instant now) {
  auto const there = ns3::LockstepStack::Port::Clock();
  CHECK(there <= now);
  if (there < now) {
    ns3::Simulator::Stop(ns3::NanoSeconds(now.since(there).ns));
    ns3::Simulator::Run();
  }
}

// Work that is due at one instant is spread over several ns-3 events, each scheduled by the last.
void Ns3Line::settle() {
  constexpr int events_max = 100'000;
  auto const& counters = stack_->GetCounters();
  CHECK(counters.refused_by_device == 0);
  for (int i = 0; left_count_ < counters.frames_sent; ++i) {
    CHECK(i < events_max);
    ns3::Simulator::Stop(ns3::NanoSeconds(0));
    ns3::Simulator::Run();
  }
}

bool Ns3Line::arrive(std::span<const std::byte> frame) {
  constexpr int events_max = 100;
  auto const& counters = stack_->GetCounters();
  auto const seen = counters.frames_received + counters.overflowed;
  auto const overflowed = counters.overflowed;
  auto const payload = frame.subspan(ethernet_ ? header_bytes : 0);
  bool sent = false;
  if (ethernet_) {
    auto const protocol = static_cast<std::uint16_t>(
        std::to_integer<std::uint32_t>(frame[12]) << 8 | std::to_integer<std::uint32_t>(frame[13]));
    sent = far_->SendFrom(packet_of(payload), mac_at(frame.subspan(6, 6)), mac_at(frame.first(6)),
                          protocol);
  } else {
    bool const six = !payload.empty() && (payload[0] >> 4) == std::byte{6};
    sent = far_->Send(packet_of(payload), far_->GetBroadcast(), six ? 0x86dd : 0x0800);
  }
  CHECK(sent);
  for (int i = 0; counters.frames_received + counters.overflowed == seen; ++i) {
    CHECK(i < events_max);
    ns3::Simulator::Stop(ns3::NanoSeconds(0));
    ns3::Simulator::Run();
  }
  return counters.overflowed == overflowed;
}

std::vector<std::vector<std::byte>> Ns3Line::take() {
  settle();
  return std::exchange(kept_, {});
}

// Ignored: left() receives the same frame.
bool Ns3Line::mute(ns3::Ptr<ns3::NetDevice>, ns3::Ptr<const ns3::Packet>, std::uint16_t,
                   const ns3::Address&) {
  return true;
}

bool Ns3Line::left(ns3::Ptr<ns3::NetDevice>, ns3::Ptr<const ns3::Packet> packet,
                   std::uint16_t protocol, const ns3::Address& from, const ns3::Address& to,
                   ns3::NetDevice::PacketType) {
  ++left_count_;
  std::size_t const header = ethernet_ ? header_bytes : 0;
  std::vector<std::byte> frame(header + packet->GetSize());
  auto* const octets = reinterpret_cast<std::uint8_t*>(frame.data());
  if (ethernet_) {
    ns3::Mac48Address::ConvertFrom(to).CopyTo(octets);
    ns3::Mac48Address::ConvertFrom(from).CopyTo(octets + 6);
    octets[12] = static_cast<std::uint8_t>(protocol >> 8);
    octets[13] = static_cast<std::uint8_t>(protocol & 0xff);
  }
  packet->CopyData(octets + header, packet->GetSize());
  kept_.push_back(std::move(frame));
  return true;
}

}  // namespace lockstep::tools
