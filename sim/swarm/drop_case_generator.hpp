// A drop_case_generator: builds a frame for each drop reason.
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

// Builds the frames that random traffic rarely contains: options, fragments, group and broadcast
// addresses, SYN floods, and errors about segments that were really sent. It never resets a
// connection of other hosts.
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
    Port server;       // zero: no server
    IpAddress fixed;   // its static neighbour entry; unspecified: none
    IpAddress mutual;  // the peer of its mutual application, on the same port; unspecified: none
    std::array<std::byte, 28> received{};  // the beginning of a packet that it sent us
    bool has_received = false;
  };
  struct Packet {
    Mac to;
    IpAddress source;
    IpAddress destination;
    wire::IpProtocol protocol = wire::IpProtocol::tcp;
    bool more_fragments = false;
    std::span<const std::byte> options;  // IPv4 options: a multiple of four octets
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
