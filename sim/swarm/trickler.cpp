// The frames of a trickler, one or two at a time.
#include "sim/swarm/trickler.hpp"

#include "core/wire/arp.hpp"
#include "core/wire/ethernet.hpp"
#include "sim/models/raw_packets.hpp"

namespace lockstep::sim {
Trickler::Trickler(const World& world, const StationSpec& spec, Random random, Trickle trickle)
    : trickle_(trickle),
      spec_(spec),
      dice_(random),
      acts_left_(spec.acts),
      next_(Instant{0} + spec.every) {
  for (const AppSpec& app : world.apps) {
    Config const& server = world.hosts[app.server.value].config;
    Config const& client = world.hosts[app.client.value].config;
    victims_.push_back(
        {server.mac, server.addresses[0].address, app.port, client.addresses[0].address});
  }
}

bool Trickler::answers_for(IpAddress address) const {
  bool const own = address == spec_.address;
  bool const invented = address.is_v4() && (address.low & 0xffff) >= 0x100;
  return own || (invented && trickle_ == Trickle::heard_syns);
}

void Trickler::answer_arp(StationDesk& desk, std::span<const std::byte> packet) {
  wire::ArpPacket asked;
  if (read_arp_request(packet, asked) && answers_for(IpAddress::from(asked.target))) {
    sim::answer_arp(desk, spec_.mac, asked);
  }
}

void Trickler::arrived(StationDesk& desk, std::span<const std::byte> frame) {
  wire::EthernetFrame parsed;
  if (wire::parse(frame, parsed) != Drop::none) {
    return;
  }
  if (parsed.header.type == wire::EtherType::arp) {
    answer_arp(desk, parsed.payload);
    return;
  }
  wire::Ipv4Packet packet;
  if (trickle_ == Trickle::gaps && wire::parse(parsed.payload, packet) == Drop::none &&
      packet.header.destination == spec_.address &&
      packet.header.protocol == wire::IpProtocol::tcp) {
    leave_gaps(desk, packet, parsed.header.source);
  }
}

// Completes the handshake, sends an octet above each of some gaps, and nothing after that.
void Trickler::leave_gaps(StationDesk& desk, const wire::Ipv4Packet& packet, Mac from) {
  wire::Segment syn_ack;
  if (wire::parse(packet.payload, syn_ack) != Drop::none || !syn_ack.flags.syn() ||
      !syn_ack.flags.ack()) {
    return;
  }
  Victim const victim{from, packet.header.source, syn_ack.source, {}};
  std::array<std::byte, 1> const octet{std::byte{'g'}};
  wire::Segment segment;
  segment.source = syn_ack.destination;
  segment.destination = syn_ack.source;
  segment.sequence = syn_ack.acknowledgment;
  segment.acknowledgment = syn_ack.sequence.next();
  segment.flags = wire::flag::ack;
  segment.window = {5'000};
  send_segment(desk, victim, spec_.address, segment);
  segment.payload = octet;
  for (std::uint32_t i = 0; i < gaps_each; ++i) {
    segment.sequence = segment.sequence + Bytes{3};
    send_segment(desk, victim, spec_.address, segment);
  }
}

void Trickler::run(StationDesk& desk) {
  if (acts_left_ == 0 || victims_.empty()) {
    next_ = Instant::never();
    return;
  }
  --acts_left_;
  next_ = desk.now() + spec_.every;
  Victim const& victim = victims_[static_cast<std::size_t>(dice_.below(victims_.size()))];
  switch (trickle_) {
    case Trickle::syns:
    case Trickle::heard_syns:
      send_syn(desk, victim, stranger());
      return;
    case Trickle::neighbours:
      if (dice_.percent(50)) {
        send_arp(desk, victim);
      } else {
        send_syn(desk, victim, stranger());
      }
      return;
    case Trickle::fragments:
      send_fragment(desk, victim);
      return;
    case Trickle::gaps:
      if (gap_connections_ < gap_connections_max) {
        ++gap_connections_;
        send_syn(desk, victim, spec_.address);
      }
      return;
  }
}

void Trickler::send_syn(StationDesk& desk, const Victim& victim, IpAddress source) {
  wire::Segment segment;
  segment.source = {next_port_};
  next_port_ = static_cast<std::uint16_t>(next_port_ == 60'000 ? 10'000 : next_port_ + 1);
  segment.destination = victim.server;
  segment.sequence = {static_cast<std::uint32_t>(dice_.word())};
  segment.flags = wire::flag::syn;
  segment.window = {5'000};
  send_segment(desk, victim, source, segment);
}

// A forged neighbour requests the victim's address; the victim may learn the neighbour's.
void Trickler::send_arp(StationDesk& desk, const Victim& victim) {
  std::array<std::byte, wire::ethernet_header_bytes + wire::arp_packet_bytes> frame{};
  wire::write(wire::EthernetHeader{victim.mac, spec_.mac, wire::EtherType::arp}, frame);
  wire::write(wire::ArpPacket{wire::ArpOperation::request, spec_.mac, stranger().as_v4(), Mac{},
                              victim.address.as_v4()},
              std::span(frame).subspan(wire::ethernet_header_bytes));
  desk.send(frame);
}

void Trickler::send_fragment(StationDesk& desk, const Victim& victim) {
  std::array<std::byte, 24> const text{};
  wire::Ipv4Header header;
  header.source = dice_.percent(50) ? stranger() : victim.client;
  header.destination = victim.address;
  header.protocol = wire::IpProtocol::tcp;
  header.time_to_live = 64;
  header.more_fragments = true;
  // Some of them lie beyond the maximum size of a reassembled datagram.
  header.fragment_offset =
      static_cast<std::uint16_t>(dice_.percent(10) ? 8'000 : dice_.below32(4) * 3);
  header.identification = static_cast<std::uint16_t>(dice_.word());
  send_ipv4(desk, {spec_.mac, victim.mac}, header, text);
}

void Trickler::send_segment(StationDesk& desk, const Victim& victim, IpAddress source,
                            const wire::Segment& segment) {
  std::array<std::byte, wire::tcp_header_bytes_max + 1> bytes{};
  std::size_t const length = write_segment(segment, {source, victim.address}, bytes);
  wire::Ipv4Header header;
  header.source = source;
  header.destination = victim.address;
  header.protocol = wire::IpProtocol::tcp;
  header.time_to_live = 64;
  send_ipv4(desk, {spec_.mac, victim.mac}, header, std::span(bytes).first(length));
}

}  // namespace lockstep::sim
