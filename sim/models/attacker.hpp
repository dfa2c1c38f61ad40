// An attacker: a station that repeats one kind of attack on a host.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/units/address.hpp"
#include "core/units/random.hpp"
#include "core/wire/ipv4.hpp"
#include "core/wire/tcp.hpp"
#include "sim/kernel/station.hpp"
#include "sim/kernel/world.hpp"

namespace lockstep::sim {

enum class Attack : std::uint8_t {
  syn_flood,              // a SYN from a new source each time, never an ACK
  optimistic_acks,        // acknowledges data that has not arrived or was never sent
  ack_division,           // many ACKs for one segment
  silence,                // requests much data and acknowledges none
  shrinking_windows,      // advertises a large window, then a small one, then zero
  tiny_mss,               // an MSS of one octet
  sequence_guesses,       // resets, SYNs and data with another host's source address
  ack_storm,              // empty segments outside the window
  gaps,                   // data above gaps that are never filled
  option_bombs,           // forty octets of options, valid and malformed
  urgent_games,           // an urgent pointer to a random position in each segment
  icmp_forgeries,         // ICMP errors about segments of its own and of other hosts
  sack_lies,              // SACK blocks about unsent and acknowledged data, and reversed ones
  reneging,               // SACKs data above a gap and then reneges
  dsack_lies,             // acknowledges, and reports every segment as a duplicate
  old_stamps,             // starts recoveries by duplicate ACKs; always echoes its first timestamp
  overlapping_fragments,  // contradicting fragments of a few datagrams
};

inline constexpr std::uint32_t attack_count = 17;

constexpr std::string_view name_of(Attack attack) {
  constexpr std::array<std::string_view, attack_count> names{
      "syn_flood",    "optimistic_acks",      "ack_division", "silence",  "shrinking_windows",
      "tiny_mss",     "sequence_guesses",     "ack_storm",    "gaps",     "option_bombs",
      "urgent_games", "icmp_forgeries",       "sack_lies",    "reneging", "dsack_lies",
      "old_stamps",   "overlapping_fragments"};
  return names[static_cast<std::uint32_t>(attack)];
}

// Who is attacked, and what the attacker knows.
struct AttackedHost {
  Mac mac;
  Endpoint endpoint;  // of a service
  IpAddress honest;   // of a client: the source address of forged segments
  Bytes request;      // to which the service replies with much data; at most 1,024
};

// The victim is the server of the world's last `chatter` application, or named. Apart from the
// attack, the attacker behaves as a correct peer. It takes the place of the victim's gateway, so
// that replies to all the source addresses it uses arrive at it.
class Attacker final : public Station {
 public:
  Attacker(const World& world, const StationSpec& spec, Random random, Attack attack);
  Attacker(const AttackedHost& victim, const StationSpec& spec, Random random, Attack attack);

  void arrived(StationDesk& desk, std::span<const std::byte> frame) override;
  void run(StationDesk& desk) override;
  Instant deadline() const override { return next_; }
  std::unique_ptr<Station> clone() const override { return std::make_unique<Attacker>(*this); }

 private:
  // One of its own connections.
  struct AttackedConnection {
    Port own;
    Sequence next;          // our next sequence number
    Sequence expected;      // the peer's next sequence number, from the segments received
    Sequence acknowledged;  // reneging: acknowledged up to here
    bool established = false;
    bool over = false;        // reset
    std::uint32_t stamp = 0;  // the peer's first timestamp
  };

  void answer_arp(StationDesk& desk, std::span<const std::byte> packet);
  void receive(StationDesk& desk, AttackedConnection& game, const wire::Segment& segment);
  void open(StationDesk& desk);
  void request_data(StationDesk& desk, AttackedConnection& game);
  // The timed actions: those without a connection, and those on one of its own.
  void act_without_connection(StationDesk& desk);
  void act_on(StationDesk& desk, AttackedConnection& game);
  void flood(StationDesk& desk);
  void guess(StationDesk& desk);
  void forge_icmp(StationDesk& desk);
  void bomb(StationDesk& desk, AttackedConnection& game);
  void play_urgent(StationDesk& desk, AttackedConnection& game);
  void leave_gap(StationDesk& desk, AttackedConnection& game);
  void report(StationDesk& desk, AttackedConnection& game, Sequence before);
  void renege(StationDesk& desk, AttackedConnection& game);
  void send_fragment(StationDesk& desk);
  wire::Segment segment_of(const AttackedConnection& game) const;
  void acknowledge(StationDesk& desk, const AttackedConnection& game, Sequence up_to);
  void send(StationDesk& desk, IpAddress source, const wire::Segment& segment,
            std::span<const std::byte> options = {});
  void send_packet(StationDesk& desk, IpAddress source, wire::IpProtocol protocol,
                   std::span<const std::byte> payload);
  bool has_connections() const;
  // Whether it sends SACK-permitted.
  bool permits_sack() const;
  // Whether the attack needs data from the victim, which it then requests.
  bool requests_data() const;
  std::uint32_t draw(std::uint64_t limit) {
    return static_cast<std::uint32_t>(random_.below(limit));
  }

  static constexpr std::uint32_t games_max = 8;

  Attack attack_;
  StationSpec spec_;
  Random random_;
  Mac victim_mac_;
  Endpoint victim_;
  IpAddress honest_;  // the source address of its forged segments
  Bytes request_;
  std::vector<AttackedConnection> games_;
  std::uint64_t acts_left_;
  std::uint32_t done_ = 0;  // number of actions
  std::uint16_t next_port_ = 20'000;
  Instant next_;
  std::array<std::byte, 1'024> data_{};
};

}  // namespace lockstep::sim
