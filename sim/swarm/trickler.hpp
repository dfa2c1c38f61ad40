// A trickler: an attacker that sends little but never stops, beside hosts that must be served.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/wire/ipv4.hpp"
#include "core/wire/tcp.hpp"
#include "sim/kernel/station.hpp"
#include "sim/kernel/world.hpp"
#include "sim/swarm/dice.hpp"

namespace lockstep::sim {

enum class Trickle : std::uint8_t {
  syns,        // SYNs from forged sources that answer no ARP request
  heard_syns,  // the same from sources that answer ARP but not the SYN-ACK
  neighbours,  // ARP requests from forged neighbours, and data that makes the victim send one
  fragments,   // first or later fragments, from forged and from honest sources
  gaps,        // connections of its own, left with data above gaps
};

inline constexpr std::uint32_t trickle_count = 5;

constexpr std::string_view name_of(Trickle trickle) {
  constexpr std::array<std::string_view, trickle_count> names{"trickle_syns", "trickle_heard_syns",
                                                              "trickle_neighbours",
                                                              "trickle_fragments", "trickle_gaps"};
  return names[static_cast<std::uint32_t>(trickle)];
}

// Sends IPv4 to the servers of the world's applications. Its sources are 10.0.1.0 to 10.0.255.255,
// which are on-link for hosts with a 16-bit prefix.
class Trickler final : public Station {
 public:
  Trickler(const World& world, const StationSpec& spec, Random random, Trickle trickle);

  void arrived(StationDesk& desk, std::span<const std::byte> frame) override;
  void run(StationDesk& desk) override;
  Instant deadline() const override { return next_; }
  std::unique_ptr<Station> clone() const override { return std::make_unique<Trickler>(*this); }

 private:
  // The limit of its own connections: more would use all connections of a host.
  static constexpr std::uint32_t gap_connections_max = 12;
  static constexpr std::uint32_t gaps_each = 8;

  struct Victim {
    Mac mac;
    IpAddress address;
    Port server;
    IpAddress client;  // address of an honest client
  };

  bool answers_for(IpAddress address) const;
  void answer_arp(StationDesk& desk, std::span<const std::byte> packet);
  void leave_gaps(StationDesk& desk, const wire::Ipv4Packet& packet, Mac from);
  void send_syn(StationDesk& desk, const Victim& victim, IpAddress source);
  void send_arp(StationDesk& desk, const Victim& victim);
  void send_fragment(StationDesk& desk, const Victim& victim);
  void send_segment(StationDesk& desk, const Victim& victim, IpAddress source,
                    const wire::Segment& segment);
  IpAddress stranger() {
    auto const third = static_cast<std::uint8_t>(1 + dice_.below32(255));
    return IpAddress::v4(10, 0, third, static_cast<std::uint8_t>(dice_.below32(256)));
  }

  Trickle trickle_;
  StationSpec spec_;
  Dice dice_;
  std::vector<Victim> victims_;
  std::uint64_t acts_left_;
  std::uint32_t gap_connections_ = 0;
  std::uint16_t next_port_ = 10'000;
  Instant next_;
};

}  // namespace lockstep::sim
