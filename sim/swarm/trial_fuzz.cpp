// Fuzzes a small world: two hosts and a station whose frames come from the input, as do the
// applications' calls and the frames that a link loses; the oracle is every checker of the swarm.
#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <span>

#include "core/units/check.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/ethernet.hpp"
#include "core/wire/icmp.hpp"
#include "core/wire/ipv4.hpp"
#include "core/wire/tcp.hpp"
#include "sim/models/raw_packets.hpp"
#include "sim/swarm/trial.hpp"
#include "sim/worlds/build.hpp"

namespace lockstep::sim {
namespace {

// Reads the input's octets; zeros when it is used up. A plain value: a copy reads on independently.
class Tape {
 public:
  Tape() = default;
  explicit Tape(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  bool over() const { return at_ >= bytes_.size(); }
  std::uint8_t octet() { return over() ? std::uint8_t{0} : bytes_[at_++]; }
  std::uint16_t word() {
    std::uint8_t const high = octet();
    return static_cast<std::uint16_t>(high << 8 | octet());
  }
  // Usually near zero, on either side.
  Bytes near() {
    std::int8_t const step = static_cast<std::int8_t>(octet());
    std::int32_t const scale = step % 3 == 0 ? 211 : 1;
    return Bytes{static_cast<std::uint32_t>(step * scale)};
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

// The input of the station, which the registry creates by name: one world at a time.
Tape& frames_of_input() {
  static Tape tape;
  return tape;
}

constexpr std::uint8_t stranger_last = 9;
constexpr std::uint32_t games_max = 4;

// Opens connections to the servers and sends segments read from the input, besides noise and ICMP
// errors. It does not touch connections of other hosts; random_peer does that in the swarm.
class Stranger final : public Station {
 public:
  Stranger(const World& world, const StationSpec& spec)
      : spec_(spec), tape_(frames_of_input()), next_(Instant{0} + spec.every) {
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      hosts_[i] = {world.hosts[i].config.mac, world.hosts[i].config.addresses[0].address};
    }
  }

  void arrived(StationDesk&, std::span<const std::byte> frame) override {
    wire::EthernetFrame link;
    wire::Ipv4Packet ip;
    wire::Segment segment;
    if (wire::parse(frame, link) != Drop::none || link.header.type != wire::EtherType::ipv4 ||
        link.header.destination != spec_.mac || wire::parse(link.payload, ip) != Drop::none ||
        ip.header.protocol != wire::IpProtocol::tcp ||
        wire::parse(ip.payload, segment) != Drop::none) {
      return;
    }
    StrangerConnection& game = games_[segment.destination.value % games_max];
    game.expected = segment.end();
    game.next = segment.flags.ack() ? segment.acknowledgment : game.next;
    game.stamp = segment.options.timestamp_value;
  }

  void run(StationDesk& desk) override {
    next_ = tape_.over() ? Instant::never() : desk.now() + spec_.every;
    std::uint8_t const what = tape_.octet();
    switch (what & 7) {
      case 0:
        next_ = desk.now() + Duration::milliseconds(std::uint64_t{1} << (what >> 4));
        break;
      case 1:
        noise(desk);
        break;
      case 2:
        icmp(desk, games_[what >> 3 & 3]);
        break;
      default:
        segment(desk, what);
        break;
    }
  }

  Instant deadline() const override { return next_; }
  std::unique_ptr<Station> clone() const override { return std::make_unique<Stranger>(*this); }

 private:
  struct Victim {
    Mac mac;
    IpAddress address;
  };
  struct StrangerConnection {
    Sequence next{7'000};  // our next sequence number
    Sequence expected;
    std::uint32_t stamp = 0;
  };

  static Port port_of(std::uint32_t game) { return {static_cast<std::uint16_t>(20'000 + game)}; }
  static Port served(std::uint32_t game) { return {static_cast<std::uint16_t>(5'000 + game % 2)}; }

  void segment(StationDesk& desk, std::uint8_t what) {
    std::uint32_t const number = what >> 3 & 3;
    StrangerConnection& game = games_[number];
    wire::Segment s;
    s.source = port_of(number);
    s.destination = served(number);
    s.flags = wire::Flags{tape_.octet()};
    s.sequence = game.next + ((what & 32) != 0 ? tape_.near() : Bytes{0});
    s.acknowledgment = game.expected + ((what & 64) != 0 ? tape_.near() : Bytes{0});
    s.window = {tape_.word()};
    s.urgent = s.flags.urg() ? tape_.word() : std::uint16_t{0};
    options(s, tape_.octet(), game);
    std::array<std::byte, 1'275> text{};
    s.payload = std::span(text).first((what & 128) != 0 ? tape_.octet() * 5u : 0u);
    std::array<std::byte, raw_packet_bytes_max> packet{};
    Victim const& victim = hosts_[1];
    std::size_t const length = write_segment(s, {spec_.address, victim.address}, packet);
    send(desk, victim, wire::IpProtocol::tcp, std::span(packet).first(length));
  }

  void options(wire::Segment& s, std::uint8_t which, const StrangerConnection& game) {
    s.options.has_mss = (which & 1) != 0;
    s.options.mss = s.options.has_mss ? tape_.word() : std::uint16_t{0};
    s.options.has_window_scale = (which & 2) != 0;
    s.options.window_scale.shift =
        s.options.has_window_scale ? static_cast<std::uint8_t>(which >> 5) : std::uint8_t{0};
    s.options.has_sack_permitted = (which & 4) != 0;
    if ((which & 8) != 0) {
      s.options.has_timestamps = true;
      s.options.timestamp_value = tape_.word();
      s.options.timestamp_echo = game.stamp - (which >> 7);
    }
    if ((which & 16) != 0 && !s.flags.syn()) {
      s.options.sack_count = 1;
      Sequence const begin = game.expected + tape_.near();
      s.options.sack[0] = {begin, begin + tape_.near()};
    }
  }

  // A frame of input octets that looks like ARP, or like IPv4 with a correct checksum.
  void noise(StationDesk& desk) {
    std::array<std::byte, 128> frame{};
    std::size_t const length = wire::ethernet_header_bytes + tape_.octet() % 110u;
    for (std::byte& each : std::span(frame).first(length)) {
      each = std::byte{tape_.octet()};
    }
    bool const is_arp = (frame[0] & std::byte{1}) != std::byte{0};
    std::size_t const to = std::to_integer<std::size_t>(frame[1]) % hosts_.size();
    wire::write(wire::EthernetHeader{hosts_[to].mac, spec_.mac,
                                     is_arp ? wire::EtherType::arp : wire::EtherType::ipv4},
                frame);
    std::span<std::byte> const ip = std::span(frame).subspan(wire::ethernet_header_bytes);
    if (!is_arp) {
      ip[0] = std::byte{0x45};
      ip[10] = ip[11] = std::byte{0};
      std::uint16_t const sum = wire::sum(ip.first(wire::ipv4_header_bytes)).checksum();
      ip[10] = static_cast<std::byte>(sum >> 8);
      ip[11] = static_cast<std::byte>(sum & 0xff);
    }
    desk.send(std::span(frame).first(length));
  }

  // An ICMP error about a segment that this game's server has sent, or a similar one.
  void icmp(StationDesk& desk, const StrangerConnection& game) {
    auto const number = static_cast<std::uint32_t>(&game - games_.data());
    Victim const& victim = hosts_[1];
    wire::Segment s;
    s.source = served(number);
    s.destination = port_of(number);
    s.sequence = game.next + tape_.near();
    std::array<std::byte, 40> quote{};
    wire::Ipv4Header about;
    about.source = victim.address;
    about.destination = spec_.address;
    about.protocol = wire::IpProtocol::tcp;
    about.time_to_live = 64;
    about.dont_fragment = true;
    wire::write(about, Bytes{20}, quote);
    wire::write(s, std::span(quote).subspan(wire::ipv4_header_bytes));
    wire::IcmpMessage const message{static_cast<wire::IcmpType>(tape_.octet()), tape_.octet(),
                                    tape_.word(), std::span<const std::byte>(quote).first(28)};
    std::array<std::byte, 64> packet{};
    Bytes const length = wire::write(message, packet);
    send(desk, victim, wire::IpProtocol::icmp, std::span(packet).first(length.count));
  }

  void send(StationDesk& desk, const Victim& to, wire::IpProtocol protocol,
            std::span<const std::byte> payload) {
    wire::Ipv4Header header;
    header.source = spec_.address;
    header.destination = to.address;
    header.protocol = protocol;
    header.time_to_live = 64;
    send_ipv4(desk, {spec_.mac, to.mac}, header, payload);
  }

  StationSpec spec_;
  Tape tape_;
  std::array<Victim, 2> hosts_{};
  std::array<StrangerConnection, games_max> games_{};
  Instant next_;
};

HostSpec host_of(Tape& tape, Name name, std::uint8_t last) {
  std::uint8_t const first = tape.octet();
  std::uint8_t const second = tape.octet();
  HostSpec host = plain_host(name, last, profile_at(3u - (second >> 6)));
  Config& config = host.config;
  if ((first & 1) != 0) {
    switch_extensions_off(config);
  }
  tcp::Config& tcp = config.tcp;
  tcp.sack = tcp.sack && (first & 2) == 0;
  tcp.dsack = tcp.dsack && tcp.sack;
  tcp.rack = tcp.rack && tcp.sack && (first & 4) == 0;
  tcp.tail_probe = tcp.tail_probe && tcp.rack;
  tcp.timestamps = tcp.timestamps && (first & 8) == 0;
  tcp.congestion = static_cast<tcp::Congestion>((first >> 4 & 3) % tcp::congestion_count);
  tcp.nagle = (first & 64) == 0;
  tcp.keepalive = (first & 128) != 0;
  tcp.syn_cookies = static_cast<tcp::SynCookies>((second & 3) % 3);
  tcp.pacing = (second & 4) != 0;
  tcp.connections_max = {16};
  tcp.active_max = {16};
  tcp.time_wait_max = {4};
  tcp.blocks_max = {256};
  tcp.pieces_max = {256};
  tcp.extents_max = {64};
  tcp.owed_max = {64};
  tcp.sent_max = {256};
  tcp.sent_per_connection = {64};
  tcp.marks_max = {64};
  tcp.listeners_max = {4};
  config.reassembly_datagrams = {2};
  config.neighbours_max = {8};
  config.paths_max = {8};
  tcp.receive_buffer = {2'000u + (second >> 3 & 7) * 500u};
  tcp.receive_buffer_max = tcp.receive_buffer;
  tcp.msl = Duration::milliseconds(500);
  // The station answers no ARP: it has a static neighbour entry.
  config.static_neighbours[0] = {IpAddress::v4(10, 0, 0, stranger_last),
                                 {{0x02, 0, 0, 0, 0, stranger_last}}};
  config.static_neighbour_count = {1};
  return host;
}

AppSpec app_of_tape(Tape& tape, std::uint16_t port) {
  constexpr std::array<std::string_view, 5> models{"bulk", "echo", "chatter", "half_close",
                                                   "slow_reader"};
  std::uint8_t const what = tape.octet();
  AppSpec app = app_of(models[what % models.size()], 1u + tape.word() % 6'000u);
  app.port = {port};
  app.reply_bytes = tape.octet() * 8u;
  app.flows = 1u + (what >> 3 & 1);
  app.repeat = 1u + (what >> 4 & 1);
  app.rounds = 1u + (what >> 5 & 3);
  app.lend = (what & 128) != 0;
  std::uint8_t const how = tape.octet();
  app.close_mode = static_cast<CloseMode>((how & 3) % 3);
  app.urgent_every = how >> 2 & 3;
  app.think = Duration::milliseconds((how >> 4) * 37u);
  return app;
}

World world_of(Tape& tape) {
  LaneSpec lane;
  lane.rate_bits_per_second = 10'000'000;
  lane.delay = Duration::milliseconds(5);
  World world;
  world.name = "tape";
  world.hosts = {host_of(tape, "a", 1), host_of(tape, "b", 2)};
  StationSpec stranger;
  stranger.name = "stranger";
  stranger.model = "stranger";
  stranger.mac.octets = {0x02, 0, 0, 0, 0, stranger_last};
  stranger.address = IpAddress::v4(10, 0, 0, stranger_last);
  world.stations = {stranger};
  world.switches = {{"switch", 16}};
  world.links = {{"a", {NodeKind::host, 0}, {NodeKind::learning_switch, 0}, lane, lane},
                 {"b", {NodeKind::host, 1}, {NodeKind::learning_switch, 0}, lane, lane},
                 {"s", {NodeKind::station, 0}, {NodeKind::learning_switch, 0}, lane, lane}};
  for (std::uint16_t i = 0; i < 2; ++i) {
    world.apps.push_back(app_of_tape(tape, static_cast<std::uint16_t>(5'000 + i)));
  }
  Mask lost;
  for (std::uint32_t i = 0; i < 4; ++i) {
    lost.lose(tape.octet());
  }
  world.lane_faults = {fault_of_link("lost", lost)};
  return world;
}

}  // namespace
}  // namespace lockstep::sim

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lockstep::sim;
  Tape tape({data, size});
  World const world = world_of(tape);
  frames_of_input() = tape;
  Registry registry = swarm_registry();
  registry.add_station("stranger", [](const World& of, const StationSpec& spec, lockstep::Random) {
    return std::unique_ptr<Station>(std::make_unique<Stranger>(of, spec));
  });
  TrialResult const result = run_trial(world, 1, nullptr, registry);
  for (const Finding& finding : result.findings.kept()) {
    std::string_view const checker = name_of(finding.checker);
    std::fprintf(stderr, "%.*s: %.*s: expected %llu, found %llu\n",
                 static_cast<int>(checker.size()), checker.data(),
                 static_cast<int>(finding.what.size()), finding.what.data(),
                 static_cast<unsigned long long>(finding.expected),
                 static_cast<unsigned long long>(finding.found));
  }
  CHECK(result.findings.empty());
  return 0;
}
