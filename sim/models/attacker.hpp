// A attacker: a station that tells a host one kind of lie, over and over.
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

enum class Lie : std::uint8_t {
  syn_flood,          // a SYN of another source each time, never an ACK
  optimistic_acks,    // acknowledges what has not arrived, and what was not sent
  ack_division,       // many ACKs for one segment
  silence,            // asks for much and acknowledges nothing
  shrinking_windows,  // offers much, then little, then nothing
  tiny_mss,           // takes segments of one octet
  sequence_guesses,   // resets, SYNs and text in the name of another host
  ack_storm,          // empty segments out of the window
  gaps,               // text above gaps that are never filled
  option_bombs,       // all forty octets of options, well and badly made
  urgent_games,       // an urgent pointer to anywhere in each segment
  icmp_forgeries,     // errors about segments of its own and of others
  sack_lies,          // reports what was never sent, what is acknowledged, and it backwards
  reneging,           // reports what came above a gap, and takes it back
  dsack_lies,         // acknowledges, and says that everything came twice
  old_stamps,         // begins recoveries by duplicates, and echoes its first timestamp for ever
  overlapping_fragments,  // pieces of few datagrams that contradict each other
};

inline constexpr std::uint32_t lie_count = 17;

constexpr std::string_view name_of(Lie lie) {
  constexpr std::array<std::string_view, lie_count> names{
      "syn_flood",    "optimistic_acks",      "ack_division", "silence",  "shrinking_windows",
      "tiny_mss",     "sequence_guesses",     "ack_storm",    "gaps",     "option_bombs",
      "urgent_games", "icmp_forgeries",       "sack_lies",    "reneging", "dsack_lies",
      "old_stamps",   "overlapping_fragments"};
  return names[static_cast<std::uint32_t>(lie)];
}

// Its victim is the server of the world's first `chatter` application. Whatever is not part of the
// lie it does as a peer should. It stands where the victim's gateway does, so that all sources that
// it invents are answered to it.
class Attacker final : public Station {
 public:
  Attacker(const World& world, const StationSpec& spec, Random random, Lie lie);

  void arrived(StationDesk& desk, std::span<const std::byte> frame) override;
  void run(StationDesk& desk) override;
  Instant deadline() const override { return next_; }
  std::unique_ptr<Station> clone() const override { return std::make_unique<Attacker>(*this); }

 private:
  // One of its own connections.
  struct Game {
    Port own;
    Sequence next;      // ours
    Sequence expected;  // after the peer's last octet that was seen
    Sequence admitted;  // up to which it was acknowledged, by who reneges
    bool standing = false;
    bool over = false;        // by a reset
    std::uint32_t stamp = 0;  // the peer's first timestamp
  };

  void answer_arp(StationDesk& desk, std::span<const std::byte> packet);
  void hear(StationDesk& desk, Game& game, const wire::Segment& segment);
  void open(StationDesk& desk);
  void ask(StationDesk& desk, Game& game);
  // What it does by its clock: without connections, and with one of its own.
  void act_blindly(StationDesk& desk);
  void act_on(StationDesk& desk, Game& game);
  void flood(StationDesk& desk);
  void guess(StationDesk& desk);
  void forge_icmp(StationDesk& desk);
  void bomb(StationDesk& desk, Game& game);
  void play_urgent(StationDesk& desk, Game& game);
  void leave_gap(StationDesk& desk, Game& game);
  void report(StationDesk& desk, Game& game, Sequence before);
  void renege(StationDesk& desk, Game& game);
  void send_fragment(StationDesk& desk);
  wire::Segment segment_of(const Game& game) const;
  void acknowledge(StationDesk& desk, const Game& game, Sequence up_to);
  void send(StationDesk& desk, IpAddress source, const wire::Segment& segment,
            std::span<const std::byte> options = {});
  void send_packet(StationDesk& desk, IpAddress source, wire::IpProtocol protocol,
                   std::span<const std::byte> payload);
  bool has_connections() const;
  // Whether it permits selective acknowledgment.
  bool selects() const;
  // Whether its lie is about what it is sent.
  bool asks() const;
  std::uint32_t draw(std::uint64_t limit) {
    return static_cast<std::uint32_t>(random_.below(limit));
  }

  static constexpr std::uint32_t games_max = 8;

  Lie lie_;
  StationSpec spec_;
  Random random_;
  Mac victim_mac_;
  Endpoint victim_;
  IpAddress honest_;  // in whose name it guesses
  Bytes request_;
  std::vector<Game> games_;
  std::uint64_t acts_left_;
  std::uint32_t done_ = 0;  // acts
  std::uint16_t next_port_ = 20'000;
  Instant next_;
  std::array<std::byte, 1'024> text_{};
};

}  // namespace lockstep::sim
