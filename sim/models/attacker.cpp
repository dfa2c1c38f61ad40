// The attacks: the timed actions of each, and its replies to received segments.
#include "sim/models/attacker.hpp"

#include <algorithm>
#include <cstring>

#include "core/units/check.hpp"
#include "core/wire/arp.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/ethernet.hpp"
#include "core/wire/icmp.hpp"
#include "core/wire/ipv4.hpp"
#include "sim/models/raw_packets.hpp"

namespace lockstep::sim {
namespace {

constexpr std::uint16_t ports_first = 20'000;
constexpr std::uint16_t ports_last = 40'000;

AttackedHost victim_of(const World& world) {
  AttackedHost out;
  for (const AppSpec& app : world.apps) {
    if (app.model == Name{"chatter"}) {
      HostSpec const& server = world.hosts[app.server.value];
      out.mac = server.config.mac;
      out.endpoint = {server.config.addresses[0].address, app.port};
      out.honest = world.hosts[app.client.value].config.addresses[0].address;
      out.request = {static_cast<std::uint32_t>(app.bytes)};
    }
  }
  return out;
}

}  // namespace

Attacker::Attacker(const World& world, const StationSpec& spec, Random random, Attack attack)
    : Attacker(victim_of(world), spec, random, attack) {}

Attacker::Attacker(const AttackedHost& victim, const StationSpec& spec, Random random,
                   Attack attack)
    : attack_(attack),
      spec_(spec),
      random_(random),
      victim_mac_(victim.mac),
      victim_(victim.endpoint),
      honest_(victim.honest),
      request_(victim.request),
      acts_left_(spec.acts),
      next_(Instant{0} + spec.every) {
  CHECK(victim_.port.value != 0);
  CHECK(request_.count <= data_.size());
}

void Attacker::arrived(StationDesk& desk, std::span<const std::byte> frame) {
  wire::EthernetFrame parsed;
  if (wire::parse(frame, parsed) != Drop::none) {
    return;
  }
  if (parsed.header.type == wire::EtherType::arp) {
    answer_arp(desk, parsed.payload);
    return;
  }
  wire::Ipv4Packet ip;
  wire::Segment segment;
  bool const is_segment =
      parsed.header.destination == spec_.mac && wire::parse(parsed.payload, ip) == Drop::none &&
      ip.header.protocol == wire::IpProtocol::tcp && ip.header.destination == spec_.address &&
      wire::parse(ip.payload, segment) == Drop::none;
  if (!is_segment) {
    return;
  }
  for (AttackedConnection& game : games_) {
    if (game.own == segment.destination) {
      receive(desk, game, segment);
      return;
    }
  }
}

void Attacker::answer_arp(StationDesk& desk, std::span<const std::byte> packet) {
  wire::ArpPacket asked;
  if (read_arp_request(packet, asked) && asked.target == spec_.address.as_v4()) {
    sim::answer_arp(desk, spec_.mac, asked);
  }
}

void Attacker::receive(StationDesk& desk, AttackedConnection& game, const wire::Segment& segment) {
  if (segment.flags.rst()) {
    game.established = false;
    game.over = true;
    return;
  }
  if (segment.flags.syn() && segment.flags.ack()) {
    bool const first = !game.established;
    game.established = true;
    game.expected = segment.end();
    game.acknowledged = game.expected;
    game.stamp = segment.options.timestamp_value;
    game.next = segment.acknowledgment;
    acknowledge(desk, game, game.expected);
    if (first && requests_data()) {
      request_data(desk, game);
    }
    return;
  }
  if (segment.length().empty() || !game.established) {
    return;
  }
  Sequence const before = game.expected;
  game.expected = last_of(game.expected, segment.end());
  switch (attack_) {
    case Attack::silence:
      break;
    case Attack::optimistic_acks:
      acknowledge(desk, game, game.expected + Bytes{draw(8) * 1'460});
      break;
    case Attack::ack_division:
      for (std::uint32_t part = 1; part <= 8; ++part) {
        acknowledge(desk, game, before + Bytes{game.expected.since(before).count * part / 8});
      }
      break;
    case Attack::sack_lies:
    case Attack::dsack_lies:
      report(desk, game, before);
      break;
    case Attack::reneging:
      renege(desk, game);
      break;
    case Attack::old_stamps:
      for (std::uint32_t i = draw(8) == 0 ? 4 : 0; i != 0; --i) {
        acknowledge(desk, game, before);
      }
      acknowledge(desk, game, game.expected);
      break;
    default:
      acknowledge(desk, game, game.expected);
      break;
  }
}

void Attacker::run(StationDesk& desk) {
  if (acts_left_ == 0) {
    next_ = Instant::never();
    return;
  }
  --acts_left_;
  next_ = desk.now() + spec_.every;
  ++done_;
  if (!has_connections()) {
    act_without_connection(desk);
    return;
  }
  if (games_.size() < games_max) {
    open(desk);
    return;
  }
  AttackedConnection& game = games_[draw(games_.size())];
  if (game.established) {
    act_on(desk, game);
  } else if (game.over) {
    // Refused or reset: replace it by a new one.
    game = games_.back();
    games_.pop_back();
  }
}

bool Attacker::has_connections() const {
  return attack_ != Attack::syn_flood && attack_ != Attack::sequence_guesses &&
         attack_ != Attack::icmp_forgeries && attack_ != Attack::overlapping_fragments;
}

void Attacker::act_without_connection(StationDesk& desk) {
  switch (attack_) {
    case Attack::syn_flood:
      flood(desk);
      break;
    case Attack::sequence_guesses:
      guess(desk);
      break;
    case Attack::overlapping_fragments:
      send_fragment(desk);
      break;
    default:
      forge_icmp(desk);
      break;
  }
}

void Attacker::act_on(StationDesk& desk, AttackedConnection& game) {
  wire::Segment segment = segment_of(game);
  switch (attack_) {
    case Attack::ack_storm:
      segment.sequence = game.next + Bytes{0x4000'0000};
      send(desk, spec_.address, segment);
      break;
    case Attack::shrinking_windows: {
      constexpr std::array<std::uint16_t, 6> windows{65'535, 8'000, 600, 30, 1, 0};
      segment.window = {windows[done_ % windows.size()]};
      send(desk, spec_.address, segment);
      break;
    }
    case Attack::gaps:
      leave_gap(desk, game);
      break;
    case Attack::option_bombs:
      bomb(desk, game);
      break;
    case Attack::urgent_games:
      play_urgent(desk, game);
      break;
    case Attack::silence:
      break;
    default:
      request_data(desk, game);
      break;
  }
}

bool Attacker::requests_data() const {
  return attack_ == Attack::optimistic_acks || attack_ == Attack::ack_division ||
         attack_ == Attack::silence || attack_ == Attack::shrinking_windows ||
         attack_ == Attack::tiny_mss || attack_ == Attack::sack_lies ||
         attack_ == Attack::reneging || attack_ == Attack::dsack_lies ||
         attack_ == Attack::old_stamps;
}

bool Attacker::permits_sack() const {
  return attack_ == Attack::sack_lies || attack_ == Attack::reneging ||
         attack_ == Attack::dsack_lies || attack_ == Attack::option_bombs;
}

void Attacker::open(StationDesk& desk) {
  AttackedConnection game{{next_port_}, {draw(0x1'0000'0000)}, {}, {}, false, false};
  next_port_ = static_cast<std::uint16_t>(next_port_ == ports_last ? ports_first : next_port_ + 1);
  wire::Segment segment = segment_of(game);
  segment.flags = wire::flag::syn;
  segment.acknowledgment = {};
  segment.options.has_mss = true;
  segment.options.mss = attack_ == Attack::tiny_mss ? std::uint16_t{1} : std::uint16_t{1'460};
  segment.options.has_sack_permitted = permits_sack();
  games_.push_back(game);
  send(desk, spec_.address, segment);
}

void Attacker::request_data(StationDesk& desk, AttackedConnection& game) {
  wire::Segment segment = segment_of(game);
  segment.flags = wire::flag::ack | wire::flag::psh;
  segment.payload = std::span(data_).first(request_.count);
  game.next = segment.end();
  send(desk, spec_.address, segment);
}

// Each SYN has a new source: 16,777,216 addresses, and a new port for each.
void Attacker::flood(StationDesk& desk) {
  IpAddress const source =
      IpAddress::v4(11, static_cast<std::uint8_t>(done_ >> 16),
                    static_cast<std::uint8_t>(done_ >> 8), static_cast<std::uint8_t>(done_));
  wire::Segment segment = segment_of({{next_port_}, {draw(0x1'0000'0000)}, {}, {}, false, false});
  next_port_ = static_cast<std::uint16_t>(next_port_ == ports_last ? ports_first : next_port_ + 1);
  segment.flags = wire::flag::syn;
  segment.acknowledgment = {};
  segment.options.has_mss = true;
  segment.options.mss = 1'460;
  send(desk, source, segment);
}

void Attacker::guess(StationDesk& desk) {
  AttackedConnection const game{{static_cast<std::uint16_t>(49'152 + draw(16'384))},
                                {draw(0x1'0000'0000)},
                                {draw(0x1'0000'0000)},
                                {},
                                true,
                                false};
  wire::Segment segment = segment_of(game);
  constexpr std::array<wire::Flags, 4> kinds{wire::flag::rst, wire::flag::syn, wire::flag::ack,
                                             wire::flag::fin | wire::flag::ack};
  segment.flags = kinds[done_ % kinds.size()];
  segment.payload = std::span(data_).first(segment.flags.ack() ? draw(64) : 0);
  send(desk, honest_, segment);
}

void Attacker::forge_icmp(StationDesk& desk) {
  std::array<std::byte, 28> quote{};
  wire::Ipv4Header header;
  header.source = victim_.address;
  header.destination = honest_;
  header.protocol = wire::IpProtocol::tcp;
  header.time_to_live = 64;
  wire::write(header, Bytes{20}, quote);
  quote[20] = static_cast<std::byte>(victim_.port.value >> 8);
  quote[21] = static_cast<std::byte>(victim_.port.value & 0xff);
  for (std::size_t i = 22; i < quote.size(); ++i) {
    quote[i] = static_cast<std::byte>(draw(256));
  }
  quote[22] = quote[22] | std::byte{0xc0};  // an ephemeral port
  constexpr std::array<wire::IcmpType, 5> types{
      wire::IcmpType::unreachable, wire::IcmpType::source_quench, wire::IcmpType::time_exceeded,
      wire::IcmpType::parameter_problem, wire::IcmpType::echo_request};
  wire::IcmpMessage const message{types[done_ % types.size()], static_cast<std::uint8_t>(draw(16)),
                                  draw(0x1'0000'0000), quote};
  std::array<std::byte, 64> packet{};
  Bytes const length = wire::write(message, packet);
  send_packet(desk, spec_.address, wire::IpProtocol::icmp, std::span(packet).first(length.count));
}

// Forty octets: NOPs only, the maximum number of unknown options, impossible lengths, four SACK
// blocks, or three timestamp options.
void Attacker::bomb(StationDesk& desk, AttackedConnection& game) {
  std::array<std::byte, 40> options{};
  std::uint32_t const kind = done_ % 6;
  if (kind > 3) {
    std::uint8_t const length = kind == 4 ? 34 : 10;
    for (std::byte& each : options) {
      each = static_cast<std::byte>(draw(256));
    }
    for (std::size_t i = 0; i < options.size(); i += length) {
      bool const fits = i + length <= options.size();
      options[i] = fits ? static_cast<std::byte>(kind == 4 ? 5 : 8) : std::byte{0};
      options[i + 1] = static_cast<std::byte>(length);
    }
    send(desk, spec_.address, segment_of(game), options);
    return;
  }
  for (std::size_t i = 0; i < options.size(); i += 2) {
    bool const nops = kind == 0;
    options[i] = nops ? std::byte{1} : static_cast<std::byte>(kind == 1 ? 200 : draw(256));
    options[i + 1] = nops ? std::byte{1} : static_cast<std::byte>(kind == 1 ? 2 : draw(48));
  }
  wire::Segment segment = segment_of(game);
  segment.flags = kind == 3 ? wire::flag::syn : wire::flag::ack;
  send(desk, spec_.address, segment, options);
}

void Attacker::play_urgent(StationDesk& desk, AttackedConnection& game) {
  wire::Segment segment = segment_of(game);
  segment.flags = wire::flag::ack | wire::flag::urg;
  segment.urgent = static_cast<std::uint16_t>(draw(0x1'0000));
  bool const brings = draw(2) != 0;
  segment.payload = std::span(data_).first(brings ? 1 : 0);
  game.next = segment.end();
  send(desk, spec_.address, segment);
}

// One octet in each block of the victim's store, each above a gap of one octet.
void Attacker::leave_gap(StationDesk& desk, AttackedConnection& game) {
  wire::Segment segment = segment_of(game);
  segment.sequence = game.next + Bytes{1 + draw(32) * 2'048};
  segment.payload = std::span(data_).first(1);
  send(desk, spec_.address, segment);
}

// SACK blocks about received data and about random ranges.
void Attacker::report(StationDesk& desk, AttackedConnection& game, Sequence before) {
  wire::Segment segment = segment_of(game);
  wire::Options& options = segment.options;
  options.sack_count = wire::sack_blocks_max;
  for (wire::SackBlock& block : options.sack) {
    Sequence const at = before + Bytes{draw(0x1'0000)};
    block = {at, at + Bytes{1 + draw(4'000)}};
  }
  if (attack_ == Attack::dsack_lies) {
    options.sack[0] = {before, game.expected};
    options.sack_count = static_cast<std::uint8_t>(1 + draw(2));
  } else {
    bool const lags = draw(4) != 0;
    segment.acknowledgment = lags ? before : game.expected;
    options.sack[1] = {options.sack[1].end, options.sack[1].begin};
    options.sack[2].begin = before + Bytes{draw(0x1'0000'0000)};
    options.sack[3] = {before - Bytes{draw(4'000)}, before};
  }
  send(desk, spec_.address, segment);
}

// SACKs a single octet of each segment, then nothing; sometimes acknowledges everything.
void Attacker::renege(StationDesk& desk, AttackedConnection& game) {
  wire::Segment segment = segment_of(game);
  std::uint32_t const what = draw(16);
  game.acknowledged = what == 0 ? game.expected : game.acknowledged;
  segment.acknowledgment = game.acknowledged;
  std::uint32_t const missing = game.expected.since(game.acknowledged).count;
  if (what > 2 && missing > 2) {
    Sequence const at = game.acknowledged + Bytes{1 + draw(missing - 1)};
    segment.options.sack_count = 1;
    segment.options.sack[0] = {at, at.next()};
  }
  send(desk, spec_.address, segment);
}

// Uses eight identifications at a time, with random offsets below 1,600 octets.
void Attacker::send_fragment(StationDesk& desk) {
  std::array<std::byte, ethernet_frame_max> frame{};
  wire::write(wire::EthernetHeader{victim_mac_, spec_.mac, wire::EtherType::ipv4}, frame);
  wire::Ipv4Header header;
  header.source = spec_.address;
  header.destination = victim_.address;
  header.protocol = wire::IpProtocol::tcp;
  header.time_to_live = 64;
  header.identification = static_cast<std::uint16_t>(done_ / 64 * 8 + draw(8));
  header.fragment_offset = static_cast<std::uint16_t>(draw(200));
  header.more_fragments = draw(8) != 0;
  std::uint32_t const length = 8 + 8 * draw(16);
  std::size_t const before = wire::ethernet_header_bytes + wire::ipv4_header_bytes;
  wire::write(header, Bytes{length}, std::span(frame).subspan(wire::ethernet_header_bytes));
  frame[before] = static_cast<std::byte>(draw(256));
  desk.send(std::span(frame).first(before + length));
}

wire::Segment Attacker::segment_of(const AttackedConnection& game) const {
  wire::Segment segment;
  segment.source = game.own;
  segment.destination = victim_.port;
  segment.sequence = game.next;
  segment.acknowledgment = game.expected;
  segment.flags = wire::flag::ack;
  segment.window = {65'535};
  if (attack_ == Attack::old_stamps) {
    segment.options.has_timestamps = true;
    segment.options.timestamp_value = 1 + done_;
    segment.options.timestamp_echo = game.stamp;
  }
  return segment;
}

void Attacker::acknowledge(StationDesk& desk, const AttackedConnection& game, Sequence up_to) {
  wire::Segment segment = segment_of(game);
  segment.acknowledgment = up_to;
  send(desk, spec_.address, segment);
}

void Attacker::send(StationDesk& desk, IpAddress source, const wire::Segment& segment,
                    std::span<const std::byte> options) {
  std::array<std::byte, ethernet_frame_max> packet{};
  Bytes header;
  if (options.empty()) {
    header = wire::write(segment, packet);
  } else {
    header = wire::write(segment, Bytes{static_cast<std::uint32_t>(options.size())}, packet);
    std::memcpy(packet.data() + wire::tcp_header_bytes, options.data(), options.size());
  }
  if (!segment.payload.empty()) {
    std::memcpy(packet.data() + header.count, segment.payload.data(), segment.payload.size());
  }
  std::size_t const length = header.count + segment.payload.size();
  wire::PseudoHeader const pseudo{source, victim_.address,
                                  static_cast<std::uint8_t>(wire::IpProtocol::tcp),
                                  Bytes{static_cast<std::uint32_t>(length)}};
  wire::write_checksum(std::span(packet).first(length), header, pseudo, wire::sum(segment.payload));
  send_packet(desk, source, wire::IpProtocol::tcp, std::span(packet).first(length));
}

void Attacker::send_packet(StationDesk& desk, IpAddress source, wire::IpProtocol protocol,
                           std::span<const std::byte> payload) {
  wire::Ipv4Header header;
  header.source = source;
  header.destination = victim_.address;
  header.protocol = protocol;
  header.time_to_live = 64;
  send_ipv4(desk, {spec_.mac, victim_mac_}, header, payload);
}

}  // namespace lockstep::sim
