// A whole stack under libFuzzer. The input is a list of frames (TCP, ICMP, ARP, ND, arbitrary
// bytes), calls and clock steps; all invariants are checked. Uses every profile, an arena full of
// noise, and overwrites frames after they were returned.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "core/stack/stack.hpp"
#include "core/stack/testing/test_keys.hpp"
#include "core/wire/arp.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/ethernet.hpp"
#include "core/wire/icmp.hpp"
#include "core/wire/ipv4.hpp"
#include "core/wire/ipv6.hpp"
#include "core/wire/neighbour_discovery.hpp"
#include "core/wire/tcp.hpp"

namespace lockstep {
namespace {

// Reads the octets of the input; zeros after its end.
class Input {
 public:
  explicit Input(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  bool empty() const { return at_ >= bytes_.size(); }
  std::uint8_t octet() { return empty() ? std::uint8_t{0} : bytes_[at_++]; }
  std::uint16_t word() { return static_cast<std::uint16_t>(octet() << 8 | octet()); }
  std::uint32_t number() { return std::uint32_t{word()} << 16 | word(); }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

constexpr IpAddress own4 = IpAddress::v4(10, 0, 0, 1);
constexpr IpAddress peer4 = IpAddress::v4(10, 0, 0, 2);
constexpr Mac own_mac{{2, 0, 0, 0, 0, 1}};
constexpr Mac peer_mac{{2, 0, 0, 0, 0, 2}};
constexpr IpAddress own6{0xfe80'0000'0000'0000, 1};
constexpr IpAddress peer6{0xfe80'0000'0000'0000, 2};

// Features controlled by otherwise unused bits of the first two octets.
void draw_features(std::uint8_t first, std::uint8_t second, tcp::Config& tcp) {
  tcp.sack = (first & 2) != 0;
  tcp.dsack = tcp.sack && (first & 4) != 0;
  tcp.rack = tcp.sack && (first & 8) != 0;
  tcp.tail_probe = tcp.rack && (first & 16) != 0;
  tcp.prr = (first & 32) != 0;
  tcp.frto = (first & 64) != 0;
  tcp.undo = tcp.frto;
  tcp.undo_by_timestamps = tcp.frto;
  tcp.timestamps = (first & 128) != 0;
  tcp.window_scale = (second & 4) != 0;
  tcp.congestion = static_cast<tcp::Congestion>((second >> 3 & 3) % tcp::congestion_count);
  tcp.hystart = (second & 32) != 0;
  tcp.ecn = (second & 32) != 0 ? tcp::EcnPolicy::on : tcp::EcnPolicy::off;
  tcp.pacing = (second & 64) != 0;
  tcp.path_mtu_discovery = (second & 128) != 0;
  tcp.fast_open_server = (second & 128) != 0;
}

Config fuzz_config(Input& input) {
  std::uint8_t const first = input.octet();
  std::uint8_t const second = input.octet();
  // The third octet: profile, link type, initial sequence numbers.
  std::uint8_t const third = input.octet();
  Config config = (third & 1) == 0   ? ((first & 1) != 0 ? Config{} : profile_rfc())
                  : (third & 2) == 0 ? profile_linux()
                                     : profile_freebsd();
  if ((third & 4) == 0) {
    draw_features(first, second, config.tcp);
  }
  config.link = (third & 8) != 0 ? LinkType::ethernet : LinkType::ip;
  config.mac = own_mac;
  config.neighbours_max = Count{3};
  config.duplicate_tests = Count{(third & 16) != 0 ? 1u : 0u};
  config.follow_routers = (third & 32) != 0;
  config.tcp.isn_base = Sequence{(third & 64) != 0 ? 0x8000'0000u : 0u} - Bytes{third & 128u};
  config.addresses[0] = {IpAddress::v4(10, 0, 0, 1), 24};
  config.addresses[1] = {own6, 64};
  config.address_count = Count{2};
  config.reassembly_datagrams = Count{2};
  config.tcp.connections_max = Count{4};
  config.tcp.active_max = Count{1u + (second & 3u)};
  config.tcp.sent_max = Count{24};
  config.tcp.sent_per_connection = Count{12};
  config.tcp.marks_max = Count{8};
  config.tcp.time_wait_max = Count{2};
  config.tcp.blocks_max = Count{40};
  config.tcp.extents_max = Count{8};
  config.tcp.owed_max = Count{8};
  config.tcp.pieces_max = Count{8};
  config.tcp.receive_buffer = Bytes{1u + input.word()};
  config.reply_bytes = Bytes{4096};
  std::uint8_t const policy = input.octet();
  config.tcp.reset_policy =
      (policy & 1) != 0 ? tcp::ResetPolicy::rfc793 : tcp::ResetPolicy::rfc5961;
  config.tcp.keepalive = (policy & 2) != 0;
  config.tcp.delayed_acks = (policy & 4) != 0;
  config.tcp.nagle = (policy & 8) != 0;
  config.tcp.time_wait_ignores_reset = (policy & 16) != 0;
  config.tcp.syn_cookies = static_cast<tcp::SynCookies>((policy >> 5 & 3) % 3);
  config.tcp.syn_cache_max = Count{(policy & 128) != 0 ? 2u : 0u};
  config.tcp.syn_cache_after = Count{0};
  return test_keys(config);
}

// A stack with a malicious peer and a careless application.
class Fuzz {
 public:
  explicit Fuzz(Input& input)
      : input_(input),
        config_(fuzz_config(input)),
        arena_(noise(Stack::arena_bytes(config_) + 64)),
        stack_(config_, aligned()) {
    stack_.bind(RegionId{0}, region_, {});
    ListenerId listener;
    Local local;
    local.port = {80};
    static_cast<void>(stack_.listen(local, Backlog{}, listener));
  }

  void run() {
    for (int step = 0; step < 400 && !input_.empty(); ++step) {
      act();
      stack_.check_invariants();
    }
  }

 private:
  // Uninitialized memory, simulated by noise.
  static std::vector<std::byte> noise(std::uint64_t bytes) {
    std::vector<std::byte> out(static_cast<std::size_t>(bytes));
    std::uint64_t word = 0x9e37'79b9'7f4a'7c15;
    for (std::size_t i = 0; i + 8 <= out.size(); i += 8) {
      word = word * 0x5851'f42d'4c95'7f2d + 0x1405'7b7e'f767'814f;
      std::memcpy(out.data() + i, &word, 8);
    }
    return out;
  }
  std::span<std::byte> aligned() {
    auto const address = reinterpret_cast<std::uintptr_t>(arena_.data());
    return std::span(arena_).subspan((64 - address % 64) % 64);
  }

  void act() {
    std::uint8_t const what = input_.octet();
    switch (what & 7) {
      case 0:
      case 1:
      case 2:
      case 3:
        segment(what);
        break;
      case 4:
        turn(Duration::milliseconds(input_.octet()));
        break;
      case 5:
        turn(Duration::milliseconds(std::uint64_t{input_.word()} * 16));
        break;
      case 6:
        call(what);
        break;
      default:
        if ((what & 32) == 0) {
          raw(what);
        } else {
          lower(what >> 3 & 3);
        }
        break;
    }
  }

  bool ethernet() const { return config_.link == LinkType::ethernet; }

  // Adds a frame to the next burst.
  void arrive(std::span<const std::byte> packet, wire::EtherType type) {
    std::vector<std::byte> frame(ethernet() ? wire::ethernet_header_bytes : 0u);
    if (ethernet()) {
      wire::write(wire::EthernetHeader{own_mac, peer_mac, type, 0}, frame);
    }
    frame.insert(frame.end(), packet.begin(), packet.end());
    frames_.push_back(std::move(frame));
  }

  // ICMP about the connection, ARP, and neighbour discovery.
  void lower(std::uint32_t which) {
    switch (which) {
      case 0:
      case 1:
        icmp();
        break;
      case 2:
        arp();
        break;
      default:
        discovery();
        break;
    }
  }

  void icmp() {
    ConnectionInfo const info = stack_.inspect(id_);
    std::array<std::byte, 40> quote{};
    wire::Segment s;
    s.source = info.exists ? info.tuple.local.port : Port{80};
    s.destination = info.exists ? info.tuple.remote.port : Port{5000};
    s.sequence = info.send.una + Bytes{input_.octet() * 16u};
    static_cast<void>(wire::write(s, std::span(quote).subspan(20)));
    wire::Ipv4Header ip;
    ip.source = own4;
    ip.destination = peer4;
    ip.protocol = wire::IpProtocol::tcp;
    ip.time_to_live = 1;
    wire::write(ip, Bytes{1400}, quote);
    wire::IcmpMessage message;
    std::uint8_t const kind = input_.octet();
    message.type = (kind & 3) == 3 ? wire::IcmpType::time_exceeded : wire::IcmpType::unreachable;
    message.code = (kind & 1) != 0 ? std::uint8_t{4} : static_cast<std::uint8_t>(kind >> 2 & 15);
    message.rest = input_.word();
    message.body = std::span(quote).first(28);
    std::vector<std::byte> packet(20 + 8 + 28);
    Bytes const length = wire::write(message, std::span(packet).subspan(20));
    ip.source = peer4;
    ip.destination = own4;
    ip.protocol = wire::IpProtocol::icmp;
    ip.time_to_live = 64;
    wire::write(ip, length, packet);
    arrive(packet, wire::EtherType::ipv4);
  }

  void arp() {
    wire::ArpPacket packet;
    std::uint8_t const kind = input_.octet();
    packet.operation = (kind & 1) != 0 ? wire::ArpOperation::reply : wire::ArpOperation::request;
    packet.sender_mac = {{2, 0, 0, 0, 0, static_cast<std::uint8_t>(kind >> 5)}};
    packet.sender = IpAddress::v4(10, 0, 0, static_cast<std::uint8_t>(kind >> 1 & 7)).as_v4();
    packet.target_mac = own_mac;
    packet.target = ((kind & 16) != 0 ? own4 : peer4).as_v4();
    std::vector<std::byte> body(wire::arp_packet_bytes);
    wire::write(packet, body);
    arrive(body, wire::EtherType::arp);
  }

  void discovery() {
    std::uint8_t const kind = input_.octet();
    wire::NdMessage message;
    message.type = (kind & 1) != 0 ? wire::Icmp6Type::neighbour_advertisement
                                   : wire::Icmp6Type::neighbour_solicitation;
    message.target = (kind & 2) != 0 ? own6 : peer6;
    message.solicited = (kind & 4) != 0;
    message.override = (kind & 8) != 0;
    message.router = (kind & 16) != 0;
    message.has_link_address = (kind & 32) != 0;
    message.link_address = {{2, 0, 0, 0, 0, static_cast<std::uint8_t>(kind >> 6)}};
    IpAddress const source{peer6.high, peer6.low + (kind >> 6)};
    std::vector<std::byte> body(wire::nd_message_bytes_max);
    Bytes const length = wire::write({source, own6}, message, body);
    std::vector<std::byte> packet(wire::ipv6_header_bytes);
    wire::Ipv6Header ip;
    ip.source = source;
    ip.destination = own6;
    ip.next_header = static_cast<std::uint8_t>(wire::IpProtocol::icmpv6);
    ip.hop_limit = 255;
    wire::write(ip, length, packet);
    packet.insert(packet.end(), body.begin(), body.begin() + length.count);
    arrive(packet, wire::EtherType::ipv6);
  }

  // A segment close to what the stack expects, so that it passes the first checks.
  void segment(std::uint8_t what) {
    ConnectionInfo const info = stack_.inspect(id_);
    wire::Segment s;
    s.source = {static_cast<std::uint16_t>(5000 + (what >> 6))};
    s.destination = info.exists ? info.tuple.local.port : Port{80};
    if (info.exists) {
      s.source = info.tuple.remote.port;
    }
    auto const near = [&] {
      return Bytes{static_cast<std::uint32_t>(
          static_cast<std::int32_t>(static_cast<std::int8_t>(input_.octet())))};
    };
    s.sequence = (info.exists ? info.receive.nxt : heard_.receive_nxt) + near();
    s.acknowledgment = (info.exists ? info.send.nxt : heard_.send_nxt) + near();
    s.flags = {input_.octet()};
    s.window = {input_.word()};
    s.urgent = s.flags.urg() ? input_.word() : std::uint16_t{0};
    s.options.has_mss = (what & 8) != 0;
    s.options.mss = s.options.has_mss ? input_.word() : std::uint16_t{0};
    if (s.flags.syn()) {
      s.options.has_sack_permitted = config_.tcp.sack;
      s.options.has_window_scale = config_.tcp.window_scale;
      s.options.window_scale.shift = 3;
    }
    if (config_.tcp.timestamps) {
      s.options.has_timestamps = true;
      s.options.timestamp_value = info.options.ts_recent + ((what & 32) != 0 ? near().count : 1);
      s.options.timestamp_echo = heard_.timestamp - ((what & 32) != 0 ? near().count : 0);
    }
    if (info.sack && !s.flags.syn() && !s.options.has_mss && (what & 32) != 0) {
      s.options.sack_count = static_cast<std::uint8_t>(1 + input_.octet() % 3);
      for (std::uint32_t i = 0; i < s.options.sack_count; ++i) {
        Sequence const begin = info.send.una + Bytes{input_.word() % 8192u} - Bytes{64};
        s.options.sack[i] = {begin, begin + Bytes{input_.octet() * 23u} - Bytes{64}};
      }
    }
    std::vector<std::byte> data(input_.octet() * ((what & 16) != 0 ? 5u : 0u));
    deliver(s, data);
  }

  void deliver(const wire::Segment& s, std::span<const std::byte> data) {
    std::vector<std::byte> frame(100 + data.size());
    std::span<std::byte> into(frame);
    Bytes const header = wire::write(s, into.subspan(20));
    Bytes const length = header + Bytes{static_cast<std::uint32_t>(data.size())};
    if (!data.empty()) {
      std::memcpy(into.data() + 20 + header.count, data.data(), data.size());
    }
    wire::Ipv4Header ip;
    ip.source = peer4;
    ip.destination = own4;
    ip.protocol = wire::IpProtocol::tcp;
    ip.time_to_live = 64;
    ip.traffic_class = static_cast<std::uint8_t>(s.window.value & 3);
    static_cast<void>(wire::write(ip, length, into));
    wire::write_checksum(into.subspan(20, length.count), header,
                         {ip.source, ip.destination, 6, length}, wire::sum(data));
    frame.resize(20 + length.count);
    arrive(frame, wire::EtherType::ipv4);
  }

  void raw(std::uint8_t what) {
    std::vector<std::byte> frame(input_.octet());
    for (std::byte& octet : frame) {
      octet = std::byte{input_.octet()};
    }
    if ((what & 8) != 0) {
      fix_checksums(frame);
    }
    bool const six = !frame.empty() && (frame[0] & std::byte{0xf0}) == std::byte{0x60};
    arrive(frame, six ? wire::EtherType::ipv6 : wire::EtherType::ipv4);
  }

  // Corrects the checksums of a frame drawn from the input.
  static void fix_checksums(std::span<std::byte> frame) {
    constexpr std::size_t v4 = wire::ipv4_header_bytes;
    constexpr std::size_t v6 = wire::ipv6_header_bytes;
    if (frame.size() >= v4 && frame[0] == std::byte{0x45}) {
      put_sum(frame, 10, wire::sum(frame.first(v4)));
      if (frame[9] == std::byte{1} && frame.size() >= v4 + 8) {
        put_sum(frame.subspan(v4), 2, wire::sum(frame.subspan(v4)));
      }
    } else if (frame.size() >= v6 + 8 && (frame[0] & std::byte{0xf0}) == std::byte{0x60}) {
      bool const is_icmp = frame[6] == std::byte{58};
      std::span<std::byte> const rest = frame.subspan(v6);
      if (is_icmp || (frame[6] == std::byte{6} && rest.size() >= wire::tcp_header_bytes)) {
        wire::Ipv6Packet packet;
        packet.header.source = peer6;
        packet.header.destination = own6;
        packet.header.next_header = static_cast<std::uint8_t>(frame[6]);
        packet.header.hop_limit = 255;
        Bytes const length{static_cast<std::uint32_t>(rest.size())};
        static_cast<void>(wire::write(packet.header, length, frame));
        wire::PseudoHeader const pseudo{peer6, own6, packet.header.next_header, length};
        put_sum(rest, is_icmp ? 2 : wire::tcp_checksum_offset,
                wire::combine(wire::pseudo_header_sum(pseudo), wire::sum(rest)));
      }
    }
  }

  // `with` includes the current value of the field.
  static void put_sum(std::span<std::byte> bytes, std::size_t at, wire::Partial with) {
    std::uint32_t const field = std::to_integer<std::uint32_t>(bytes[at]) << 8 |
                                std::to_integer<std::uint32_t>(bytes[at + 1]);
    with.sum += 0xffffu - field;
    std::uint16_t const checksum = with.checksum();
    bytes[at] = static_cast<std::byte>(checksum >> 8);
    bytes[at + 1] = static_cast<std::byte>(checksum);
  }

  void call(std::uint8_t what) {
    std::array<std::byte, 3000> const bytes{};
    switch (what >> 3 & 7) {
      case 0: {
        std::uint16_t const how = input_.word();
        static_cast<void>(stack_.write(id_, std::span(bytes).first(how % 3000),
                                       static_cast<More>(how / 3000 % 4)));
        break;
      }
      case 1: {
        std::uint16_t const how = input_.word();
        if ((how & 3) == 0) {
          static_cast<void>(stack_.finish(id_));
        } else if ((how & 3) == 1) {
          static_cast<void>(stack_.lend(id_, {RegionId{0}, how % 64u, how % 900u},
                                        static_cast<More>(how / 900 % 4)));
        } else {
          // Unread data can be read, and its length is as reported.
          Bytes const unread = stack_.unread(id_);
          std::uint32_t seen = 0;
          for (auto part = stack_.readable(id_); !part.empty();
               part = stack_.readable(id_, Bytes{seen})) {
            seen += static_cast<std::uint32_t>(part.size());
            touched_ += std::to_integer<std::uint32_t>(part.back());
          }
          CHECK(seen == unread.count);
        }
        break;
      }
      case 2:
        static_cast<void>(stack_.close(id_));
        break;
      case 3:
        stack_.abort(id_);
        break;
      case 4:
        stack_.consume(id_, Bytes{input_.word()});
        break;
      case 5:
        static_cast<void>(stack_.urgent(id_));
        break;
      case 6: {
        Open open;
        open.remote = {peer4, {5000}};
        static_cast<void>(stack_.connect(open, id_));
        break;
      }
      default:
        static_cast<void>(
            stack_.set(id_, {static_cast<SettingKind>(input_.octet() % 14), input_.number()}));
        break;
    }
  }

  void turn(Duration by) {
    now_ = now_ + by;
    std::vector<Ingress> burst;
    for (std::size_t i = 0; i < frames_.size() && i < 64; ++i) {
      burst.push_back({frames_[i], Checksum::unknown, now_});
    }
    stack_.receive(now_, burst);
    stack_.expire(now_);
    Event event;
    while (stack_.next_event(event)) {
      if (event.kind == EventKind::accepted || event.kind == EventKind::connected) {
        id_ = event.id;
      }
    }
    stack_.settle();
    for (std::vector<std::byte>& frame : frames_) {
      std::ranges::fill(frame, std::byte{0xdd});
    }
    poisoned_ = std::move(frames_);
    frames_.clear();
    std::vector<std::byte> room(1600);
    for (int i = 0; i < 200 && stack_.wants_transmit(); ++i) {
      std::size_t const length = stack_.transmit(now_, room).length;
      if (length == 0) {
        break;
      }
      note_sent(
          std::span(room).first(length).subspan(ethernet() ? wire::ethernet_header_bytes : 0u));
    }
  }

  // Stores the sequence numbers of the last segment sent, so that the fuzzer can answer a
  // handshake.
  void note_sent(std::span<const std::byte> frame) {
    constexpr std::size_t header = 20;
    if (frame.size() < 2 * header || frame[0] != std::byte{0x45} || frame[9] != std::byte{6}) {
      return;
    }
    auto const number = [&](std::size_t at) {
      std::uint32_t value = 0;
      for (std::byte each : frame.subspan(header + at, 4)) {
        value = value << 8 | std::to_integer<std::uint32_t>(each);
      }
      return Sequence{value};
    };
    wire::Segment segment;
    bool const syn = (frame[header + 13] & std::byte{2}) != std::byte{0};
    CHECK(wire::parse(frame.subspan(header), segment) == Drop::none);
    heard_ = {number(4) + Bytes{syn ? 1u : 0u}, number(8), segment.options.timestamp_value};
  }

  Input& input_;
  Config config_;
  std::vector<std::byte> arena_;
  Stack stack_;
  struct Heard {
    Sequence send_nxt;
    Sequence receive_nxt;
    std::uint32_t timestamp = 0;
  };

  ConnectionId id_;
  Heard heard_{};
  Instant now_{};
  std::vector<std::vector<std::byte>> frames_;
  std::vector<std::vector<std::byte>> poisoned_;  // frames of the last turn
  std::uint32_t touched_ = 0;
  std::array<std::byte, 1024> region_{};
};

}  // namespace
}  // namespace lockstep

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  lockstep::Input input({data, size});
  auto const fuzz = std::make_unique<lockstep::Fuzz>(input);
  fuzz->run();
  return 0;
}
