// A random_peer: sends raw segments, valid and malformed, to the hosts that it can reach.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/units/address.hpp"
#include "core/units/random.hpp"
#include "core/wire/tcp.hpp"
#include "sim/kernel/station.hpp"
#include "sim/kernel/world.hpp"

namespace lockstep::sim {

// It answers ARP, opens raw connections to the servers of the world's applications, tests them with
// unusual segments once established, and injects random segments and ICMP errors into connections
// of other hosts, whose sequence numbers it does not know. It knows only what frames contain, not
// the state of the stacks.
class RandomPeer final : public Station {
 public:
  RandomPeer(const World& world, const StationSpec& spec, Random random);

  void arrived(StationDesk& desk, std::span<const std::byte> frame) override;
  void run(StationDesk& desk) override;
  Instant deadline() const override { return next_; }
  std::unique_ptr<Station> clone() const override { return std::make_unique<RandomPeer>(*this); }

 private:
  struct Victim {
    Mac mac;
    Endpoint server;  // port zero: no server
  };
  // One of the random_peer's own connections, with the little state that it keeps.
  struct PeerConnection {
    Victim victim;
    Port own;
    Sequence next;      // our next sequence number
    Sequence expected;  // the peer's next sequence number
    bool established = false;
    std::uint32_t stamp = 0;  // our timestamp clock; zero: no timestamps
    bool sack = false;        // our SYN had SACK-permitted
  };
  struct Envelope {
    Mac mac;
    IpAddress source;
    IpAddress destination;
  };

  void answer_arp(StationDesk& desk, std::span<const std::byte> packet);
  void receive(StationDesk& desk, std::span<const std::byte> packet);
  void open(StationDesk& desk, const Victim& victim);
  void play(StationDesk& desk, PeerConnection& game);
  void make_invalid(StationDesk& desk, PeerConnection& game, wire::Segment& segment);
  void forge_sack_blocks(const PeerConnection& game, wire::Segment& segment);
  void blind(StationDesk& desk, const Victim& victim);
  void forge_icmp(StationDesk& desk, const Victim& victim);
  void noise(StationDesk& desk, const Victim& victim);
  void send(StationDesk& desk, const Envelope& envelope, wire::Segment segment);
  void send_packet(StationDesk& desk, const Envelope& envelope, std::span<const std::byte> payload,
                   std::uint8_t protocol);
  wire::Segment segment_of(const PeerConnection& game) const;
  void stamp(PeerConnection& game, wire::Segment& segment);
  std::uint32_t draw(std::uint64_t limit) {
    return static_cast<std::uint32_t>(random_.below(limit));
  }

  static constexpr std::uint32_t games_max = 16;

  StationSpec spec_;
  Random random_;
  std::vector<Victim> victims_;
  std::vector<PeerConnection> games_;
  std::uint64_t acts_left_;
  std::uint16_t next_port_ = 20'000;
  Instant next_;
  std::array<std::byte, 512> data_{};
};

}  // namespace lockstep::sim
