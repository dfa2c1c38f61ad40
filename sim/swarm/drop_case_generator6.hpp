// A drop_case_generator of IPv6: makes one frame for each reason for which a frame of IPv6 can die.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/wire/icmpv6.hpp"
#include "sim/kernel/station.hpp"
#include "sim/kernel/world.hpp"
#include "sim/swarm/dice.hpp"

namespace lockstep::sim {

// It never tells a link address of others, and never claims an address that somebody has.
class DropCaseGenerator6 final : public Station {
 public:
  DropCaseGenerator6(const World& world, const StationSpec& spec, Random random);

  void arrived(StationDesk&, std::span<const std::byte>) override {}
  void run(StationDesk& desk) override;
  Instant deadline() const override { return next_; }
  std::unique_ptr<Station> clone() const override {
    return std::make_unique<DropCaseGenerator6>(*this);
  }

 private:
  struct Victim {
    Mac mac;
    std::uint16_t vlan = 0;
    IpAddress address;
    IpAddress fixed;  // a neighbour that it knows for good; unspecified: none
  };
  // One packet, of which all but the named is as it should be.
  struct Packet {
    IpAddress source;
    IpAddress destination;
    std::uint8_t next = 58;
    std::uint8_t hop_limit = 255;
    bool to_group_mac = false;
    std::uint8_t version = 6;
    std::uint32_t cut = 0;  // octets that the frame lacks at its end
  };

  void trick_discovery(StationDesk& desk, const Victim& victim);
  void trick_headers(StationDesk& desk, const Victim& victim);
  void trick_icmp(StationDesk& desk, const Victim& victim);
  void send(StationDesk& desk, const Victim& victim, const Packet& packet,
            std::span<const std::byte> payload);

  StationSpec spec_;
  Dice dice_;
  std::vector<Victim> victims_;
  IpAddress own_;
  std::uint64_t acts_left_;
  Instant next_;
};

}  // namespace lockstep::sim
