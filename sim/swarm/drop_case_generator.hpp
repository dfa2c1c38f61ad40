// A drop_case_generator: makes one frame for each reason for which a frame can die, with malice
// aforethought.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/wire/ipv4.hpp"
#include "core/wire/tcp.hpp"
#include "sim/kernel/station.hpp"
#include "sim/kernel/world.hpp"
#include "sim/swarm/dice.hpp"

namespace lockstep::sim {

// What chance brings about too seldom: options, fragments, groups, broadcasts, floods of SYNs, and
// errors about segments that were really sent. It never resets a connection of others.
class DropCaseGenerator final : public Station {
 public:
  DropCaseGenerator(const World& world, const StationSpec& spec, Random random);

  void arrived(StationDesk& desk, std::span<const std::byte> frame) override;
  void run(StationDesk& desk) override;
  Instant deadline() const override { return next_; }
  std::unique_ptr<Station> clone() const override {
    return std::make_unique<DropCaseGenerator>(*this);
  }

 private:
  struct Victim {
    Mac mac;
    IpAddress address;
    Port server;       // zero: it serves nothing
    IpAddress fixed;   // a neighbour that it knows for good; unspecified: none
    IpAddress mutual;  // who it calls from `server` to the same port; unspecified: nobody
    std::array<std::byte, 28> heard{};  // the beginning of a packet that it sent us
    bool has_heard = false;
  };
  struct Packet {
    Mac to;
    IpAddress source;
    IpAddress destination;
    wire::IpProtocol protocol = wire::IpProtocol::tcp;
    bool more_fragments = false;
    std::span<const std::byte> options;  // of IPv4: a multiple of four octets
  };

  void trick(StationDesk& desk, const Victim& victim);
  void trick_arp(StationDesk& desk, const Victim& victim);
  void trick_ip(StationDesk& desk, const Victim& victim);
  void trick_icmp(StationDesk& desk, const Victim& victim);
  void trick_tcp(StationDesk& desk, const Victim& victim);
  void flood(StationDesk& desk, const Victim& victim);
  void quote(StationDesk& desk, const Victim& victim);
  void send(StationDesk& desk, const Packet& packet, std::span<const std::byte> payload);
  void send_segment(StationDesk& desk, const Packet& packet, wire::Segment segment);
  wire::Segment syn_to(const Victim& victim);
  Packet packet_to(const Victim& victim) const;

  StationSpec spec_;
  Dice dice_;
  std::vector<Victim> victims_;
  std::uint64_t acts_left_;
  std::uint16_t next_port_ = 1'024;
  Instant next_;
};

}  // namespace lockstep::sim
