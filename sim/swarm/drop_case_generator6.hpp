// A drop_case_generator for IPv6: builds a frame for each drop reason of IPv6.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/wire/icmpv6.hpp"
#include "sim/kernel/station.hpp"
#include "sim/kernel/world.hpp"
#include "sim/swarm/dice.hpp"

namespace lockstep::sim {

// It never sends another host's link address, and never claims an address in use.
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
    IpAddress fixed;  // its static neighbour entry; unspecified: none
  };
  // One packet that is valid except in the fields set.
  struct Packet {
    IpAddress source;
    IpAddress destination;
    std::uint8_t next = 58;
    std::uint8_t hop_limit = 255;
    bool to_group_mac = false;
    std::uint8_t version = 6;
    std::uint32_t cut = 0;  // octets missing at the end of the frame
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
