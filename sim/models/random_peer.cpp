// The random_peer's actions: opening connections, unusual segments, forgeries.
#include "sim/models/random_peer.hpp"

#include "core/wire/arp.hpp"
#include "core/wire/ethernet.hpp"
#include "core/wire/icmp.hpp"
#include "core/wire/ipv4.hpp"
#include "sim/models/raw_packets.hpp"

namespace lockstep::sim {
namespace {}  // namespace

RandomPeer::RandomPeer(const World& world, const StationSpec& spec, Random random)
    : spec_(spec), random_(random), acts_left_(spec.acts), next_(Instant{0} + spec.every) {
  for (const HostSpec& host : world.hosts) {
    victims_.push_back({host.config.mac, {host.config.addresses[0].address, {}}});
  }
  for (const AppSpec& app : world.apps) {
    HostSpec const& host = world.hosts[app.server.value];
    victims_.push_back({host.config.mac, {host.config.addresses[0].address, app.port}});
  }
  for (std::byte& each : data_) {
    each = static_cast<std::byte>(random_.next() >> 56);
  }
}

void RandomPeer::arrived(StationDesk& desk, std::span<const std::byte> frame) {
  wire::EthernetFrame parsed;
  if (wire::parse(frame, parsed) != Drop::none) {
    return;
  }
  if (parsed.header.type == wire::EtherType::arp) {
    answer_arp(desk, parsed.payload);
  } else if (parsed.header.type == wire::EtherType::ipv4 &&
             parsed.header.destination == spec_.mac) {
    receive(desk, parsed.payload);
  }
}

void RandomPeer::answer_arp(StationDesk& desk, std::span<const std::byte> packet) {
  wire::ArpPacket asked;
  if (read_arp_request(packet, asked) && asked.target == spec_.address.as_v4()) {
    sim::answer_arp(desk, spec_.mac, asked);
  }
}

void RandomPeer::receive(StationDesk& desk, std::span<const std::byte> packet) {
  wire::Ipv4Packet ip;
  wire::Segment segment;
  if (wire::parse(packet, ip) != Drop::none || ip.header.protocol != wire::IpProtocol::tcp ||
      wire::parse(ip.payload, segment) != Drop::none) {
    return;
  }
  for (PeerConnection& game : games_) {
    if (game.own != segment.destination ||
        game.victim.server != Endpoint{ip.header.source, segment.source}) {
      continue;
    }
    game.expected = segment.end();
    if (segment.flags.syn() && segment.flags.ack() && !game.established) {
      game.established = true;
      game.next = segment.acknowledgment;
    }
    // Usually acknowledges correctly, so that connections get far enough to be worth attacking.
    if (segment.length().count != 0 && !segment.flags.rst() && draw(4) != 0) {
      wire::Segment answer = segment_of(game);
      stamp(game, answer);
      if (game.sack && draw(2) == 0) {
        forge_sack_blocks(game, answer);
      }
      send(desk, {game.victim.mac, spec_.address, game.victim.server.address}, answer);
    }
    return;
  }
}

void RandomPeer::run(StationDesk& desk) {
  if (acts_left_ == 0 || victims_.empty()) {
    next_ = Instant::never();
    return;
  }
  --acts_left_;
  next_ = desk.now() + spec_.every;
  Victim const victim = victims_[draw(victims_.size())];
  switch (draw(8)) {
    case 0:
      open(desk, victim);
      break;
    case 1:
      blind(desk, victim);
      break;
    case 2:
      forge_icmp(desk, victim);
      break;
    case 3:
      noise(desk, victim);
      break;
    default:
      if (games_.empty()) {
        open(desk, victim);
      } else {
        play(desk, games_[draw(games_.size())]);
      }
      break;
  }
}

void RandomPeer::open(StationDesk& desk, const Victim& victim) {
  PeerConnection game{victim, {next_port_}, {draw(0x1'0000'0000)}, {}, false};
  next_port_ = static_cast<std::uint16_t>(next_port_ == 40'000 ? 20'000 : next_port_ + 1);
  wire::Segment segment = segment_of(game);
  segment.flags = wire::flag::syn;
  segment.acknowledgment = {};
  segment.options.has_mss = draw(4) != 0;
  // Zero and one are sizes that a victim must handle.
  constexpr std::array<std::uint16_t, 6> sizes{0, 1, 28, 64, 536, 1'460};
  segment.options.mss = segment.options.has_mss ? sizes[draw(sizes.size())] : std::uint16_t{0};
  segment.options.has_window_scale = draw(2) != 0;
  std::uint32_t const shift = draw(15);
  segment.options.window_scale.shift =
      segment.options.has_window_scale ? static_cast<std::uint8_t>(shift) : std::uint8_t{0};
  std::uint32_t const clock = draw(0x1'0000'0000);
  game.stamp = draw(2) == 0 ? 0 : clock | 1;
  segment.options.has_timestamps = game.stamp != 0;
  segment.options.timestamp_value = game.stamp;
  game.sack = draw(2) == 0;
  segment.options.has_sack_permitted = game.sack;
  if (games_.size() < games_max) {
    games_.push_back(game);
  } else {
    games_[draw(games_max)] = game;
  }
  send(desk, {victim.mac, spec_.address, victim.server.address}, segment);
}

wire::Segment RandomPeer::segment_of(const PeerConnection& game) const {
  wire::Segment segment;
  segment.source = game.own;
  segment.destination = game.victim.server.port;
  segment.sequence = game.next;
  segment.acknowledgment = game.expected;
  segment.flags = wire::flag::ack;
  segment.window = {8'192};
  return segment;
}

// Usually a later timestamp; sometimes an old one or none.
void RandomPeer::stamp(PeerConnection& game, wire::Segment& segment) {
  std::uint32_t const what = draw(16);
  std::uint32_t const step = draw(100);
  if (game.stamp == 0 || what == 0) {
    return;
  }
  segment.options.has_timestamps = true;
  segment.options.timestamp_value = game.stamp - (what == 1 ? step + 1 : 0);
  segment.options.timestamp_echo = what == 2 ? step : 0;
  game.stamp += what > 8 ? step : 0;
}

void RandomPeer::play(StationDesk& desk, PeerConnection& game) {
  wire::Segment segment = segment_of(game);
  Envelope const to{game.victim.mac, spec_.address, game.victim.server.address};
  std::uint32_t const length = draw(data_.size());
  switch (draw(8)) {
    case 0:  // in order
      segment.payload = std::span(data_).first(length);
      game.next = segment.end();
      break;
    case 1:  // above a gap, or overlapping earlier data with different content
      segment.payload = std::span(data_).subspan(length / 2, length / 2);
      segment.sequence = game.next + Bytes{draw(2'000)} - Bytes{1'000};
      break;
    case 2: {  // shrinks its window, possibly to zero; one draw per statement fixes their order
      bool const closed = draw(2) == 0;
      std::uint32_t const open = draw(600);
      segment.window = {static_cast<std::uint16_t>(closed ? 0 : open)};
      break;
    }
    case 3:  // acknowledges old data, part of the data, or unsent data
      segment.acknowledgment = game.expected + Bytes{draw(4'000)} - Bytes{3'000};
      break;
    case 4:
      segment.flags = wire::flag::fin | wire::flag::ack;
      segment.payload = std::span(data_).first(draw(64));
      break;
    default:
      make_invalid(desk, game, segment);
      break;
  }
  stamp(game, segment);
  send(desk, to, segment);
}

// Resets, SYNs, and random flags and sequence numbers.
void RandomPeer::make_invalid(StationDesk&, PeerConnection& game, wire::Segment& segment) {
  switch (draw(5)) {
    case 0:
      segment.flags = wire::flag::rst;
      segment.sequence = game.next + Bytes{draw(3)};
      break;
    case 1:
      segment.flags = draw(2) == 0 ? wire::flag::syn : wire::flag::syn | wire::flag::ack;
      segment.sequence = game.next + Bytes{draw(70'000)};
      break;
    case 2:
      segment.flags = wire::Flags{static_cast<std::uint8_t>(draw(256))};
      segment.urgent = static_cast<std::uint16_t>(draw(0x1'0000));
      segment.payload = std::span(data_).first(draw(32));
      break;
    case 3:
      segment.sequence = {draw(0x1'0000'0000)};
      segment.payload = std::span(data_).first(draw(data_.size()));
      break;
    default:
      segment.flags = wire::flag::ack | wire::flag::urg;
      segment.urgent = static_cast<std::uint16_t>(draw(0x1'0000));
      segment.payload = std::span(data_).first(draw(data_.size()));
      game.next = segment.end();
      break;
  }
}

// SACK blocks about unsent data, about acknowledged data, about single octets, and without what
// earlier blocks reported (reneging).
void RandomPeer::forge_sack_blocks(const PeerConnection& game, wire::Segment& segment) {
  std::uint32_t const held_back = draw(8'000);
  segment.acknowledgment = game.expected - Bytes{held_back};
  segment.options.sack_count = static_cast<std::uint8_t>(1 + draw(3));
  for (std::uint32_t i = 0; i < segment.options.sack_count; ++i) {
    std::uint32_t const at = draw(10'000);
    constexpr std::array<std::uint64_t, 4> longest{1, 2, 1'500, 0x1'0000'0000};
    std::uint64_t const most = longest[draw(longest.size())];
    std::uint32_t const length = draw(most);
    Sequence const begin = game.expected + Bytes{at} - Bytes{8'000};
    segment.options.sack[i] = {begin, begin + Bytes{length} + Bytes{1}};
  }
}

// A forged segment of a connection between two other hosts.
void RandomPeer::blind(StationDesk& desk, const Victim& victim) {
  Victim const peer = victims_[draw(victims_.size())];
  wire::Segment segment;
  segment.source = peer.server.port.value != 0
                       ? peer.server.port
                       : Port{static_cast<std::uint16_t>(49'152 + draw(16'384))};
  segment.destination = victim.server.port.value != 0
                            ? victim.server.port
                            : Port{static_cast<std::uint16_t>(49'152 + draw(16'384))};
  segment.sequence = {draw(0x1'0000'0000)};
  segment.acknowledgment = {draw(0x1'0000'0000)};
  segment.flags = wire::Flags{static_cast<std::uint8_t>(draw(64))};
  segment.window = {static_cast<std::uint16_t>(draw(0x1'0000))};
  segment.payload = std::span(data_).first(draw(64));
  send(desk, {victim.mac, peer.server.address, victim.server.address}, segment);
}

// An ICMP error about a segment that the victim may or may not have sent.
void RandomPeer::forge_icmp(StationDesk& desk, const Victim& victim) {
  Victim const peer = victims_[draw(victims_.size())];
  std::array<std::byte, 28> quote{};
  wire::Ipv4Header header;
  header.source = victim.server.address;
  header.destination = draw(4) == 0 ? spec_.address : peer.server.address;
  header.protocol = wire::IpProtocol::tcp;
  header.time_to_live = 64;
  wire::write(header, Bytes{20}, quote);
  for (std::size_t i = 20; i < quote.size(); ++i) {
    quote[i] = static_cast<std::byte>(draw(256));
  }
  quote[20] = static_cast<std::byte>(victim.server.port.value >> 8);
  quote[21] = static_cast<std::byte>(victim.server.port.value & 0xff);
  constexpr std::array<wire::IcmpType, 6> types{
      wire::IcmpType::unreachable,   wire::IcmpType::source_quench,
      wire::IcmpType::time_exceeded, wire::IcmpType::parameter_problem,
      wire::IcmpType::echo_request,  wire::IcmpType::redirect};
  wire::IcmpMessage const message{types[draw(types.size())], static_cast<std::uint8_t>(draw(16)),
                                  draw(0x1'0000'0000),
                                  std::span<const std::byte>(quote).first(20 + draw(9))};
  std::array<std::byte, 64> packet{};
  Bytes const length = wire::write(message, packet);
  send_packet(desk, {victim.mac, spec_.address, victim.server.address},
              std::span(packet).first(length.count),
              static_cast<std::uint8_t>(wire::IpProtocol::icmp));
}

// A frame of random octets, with a valid link header.
void RandomPeer::noise(StationDesk& desk, const Victim& victim) {
  std::array<std::byte, 128> frame{};
  for (std::byte& each : frame) {
    each = static_cast<std::byte>(draw(256));
  }
  wire::write(wire::EthernetHeader{victim.mac, spec_.mac,
                                   draw(3) == 0 ? wire::EtherType::arp : wire::EtherType::ipv4},
              frame);
  // Half of them start like an IPv4 header.
  if (draw(2) == 0) {
    frame[14] = std::byte{0x45};
  }
  desk.send(std::span(frame).first(14 + draw(frame.size() - 14)));
}

void RandomPeer::send(StationDesk& desk, const Envelope& envelope, wire::Segment segment) {
  std::array<std::byte, ethernet_frame_max> packet{};
  std::size_t const length =
      write_segment(segment, {envelope.source, envelope.destination}, packet);
  // Sometimes the checksum is wrong, or the options are malformed.
  if (draw(16) == 0) {
    std::uint32_t const bit = draw(8);
    packet[draw(length)] ^= static_cast<std::byte>(1u << bit);
  }
  send_packet(desk, envelope, std::span(packet).first(length),
              static_cast<std::uint8_t>(wire::IpProtocol::tcp));
}

void RandomPeer::send_packet(StationDesk& desk, const Envelope& envelope,
                             std::span<const std::byte> payload, std::uint8_t protocol) {
  wire::Ipv4Header header;
  header.source = envelope.source;
  header.destination = envelope.destination;
  header.protocol = static_cast<wire::IpProtocol>(protocol);
  header.time_to_live = 64;
  header.dont_fragment = true;
  send_ipv4(desk, {spec_.mac, envelope.mac}, header, payload);
}

}  // namespace lockstep::sim
