// The one-screen language of TCP tests: a stack, a scripted peer, and a virtual clock.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/stack/stack.hpp"
#include "core/stack/statistics.hpp"
#include "core/stack/testing/test_keys.hpp"
#include "core/wire/icmp.hpp"
#include "core/wire/ipv4.hpp"
#include "core/wire/tcp.hpp"

namespace lockstep::testing {

namespace flag = wire::flag;
using tcp::State;
using wire::Flags;

// What the peer sends. Numbers are relative: `seq` to the peer's ISS, `ack` to the stack's ISS.
struct In {
  Flags flags;
  std::uint32_t seq = 0;
  std::uint32_t ack = 0;
  std::string data = {};
  std::uint16_t window = 65535;
  std::uint16_t urgent = 0;
  std::uint16_t mss = 0;       // 0: no option
  wire::Options options = {};  // additional options
  bool sack_permitted = false;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> sack = {};  // relative, like `ack`
};

// What the stack sent, with numbers relative in the same way.
struct Out {
  Instant at;
  Flags flags;
  std::uint32_t seq = 0;
  std::uint32_t ack = 0;
  std::string data = {};
  std::uint16_t window = 0;
  std::uint16_t urgent = 0;
  std::uint16_t mss = 0;
  bool sack_permitted = false;
  std::string sack;   // "5001-6001 3001-4001", relative like `ack`
  Sequence absolute;  // the sequence number on the wire
  FourTuple tuple;    // ours first
  std::uint8_t traffic_class = 0;
  std::uint8_t time_to_live = 0;
  wire::Options options = {};
};

inline std::string letters(Flags flags) {
  std::string out;
  constexpr const char* names = "FSRPAUEC";
  for (int i = 0; i < 8; ++i) {
    if ((flags.bits >> i & 1) != 0) {
      out += names[i];
    }
  }
  return out;
}

// "SA 0:0(0) ack 1": flags, relative first number, number after the data, length, ACK.
inline std::string line(const Out& out) {
  std::string data = letters(out.flags) + " " + std::to_string(out.seq) + "(" +
                     std::to_string(out.data.size()) + ")";
  if (out.flags.ack()) {
    data += " ack " + std::to_string(out.ack);
  }
  return data;
}

// Profile default, on a link without address resolution.
inline Config bare_config() {
  Config config;
  config.link = LinkType::ip;
  config.addresses[0] = {IpAddress::v4(10, 0, 0, 1), 24};
  config.address_count = Count{1};
  return test_keys(config);
}

// Profile rfc on such a link, with small pools.
inline Config kit_config() {
  Config config = profile_rfc();
  config.link = LinkType::ip;
  config.addresses[0] = {IpAddress::v4(10, 0, 0, 1), 24};
  config.address_count = Count{1};
  config.tcp.connections_max = Count{64};
  config.tcp.active_max = Count{64};
  config.tcp.time_wait_max = Count{16};
  config.tcp.blocks_max = Count{512};
  config.tcp.isn_base = Sequence{0};
  return test_keys(config);
}

class Kit {
 public:
  static constexpr std::uint16_t device_port = 80;
  static constexpr std::uint16_t peer_port = 5000;

  explicit Kit(const Config& config = kit_config())
      : arena_(Stack::arena_bytes(config) + 64), stack(test_keys(config), aligned()) {
    now = now + Duration::seconds(1000);
    turn();
  }

  // --- the peer ---
  void send(const In& in) {
    wire::Segment s;
    s.source = {peer_port};
    s.destination = {device_port};
    s.sequence = peer_iss + Bytes{in.seq};
    s.acknowledgment = device_iss + Bytes{in.ack};
    s.flags = in.flags;
    s.window = {in.window};
    s.urgent = in.urgent;
    s.options = in.options;
    s.options.has_mss = in.mss != 0;
    s.options.mss = in.mss;
    if (stamp != 0) {
      s.options.has_timestamps = true;
      s.options.timestamp_value = stamp;
      s.options.timestamp_echo = in.flags.ack() ? device_stamp : 0;
    }
    s.options.has_sack_permitted = in.sack_permitted || in.options.has_sack_permitted;
    for (auto const& [begin, end] : in.sack) {
      s.options.sack[s.options.sack_count] = {device_iss + Bytes{begin}, device_iss + Bytes{end}};
      ++s.options.sack_count;
    }
    send_segment(s, in.data);
  }

  void send_segment(const wire::Segment& s, const std::string& data) {
    frames_.emplace_back(20 + 60 + data.size());
    std::span<std::byte> into(frames_.back());
    Bytes const header = wire::write(s, into.subspan(20));
    Bytes const length = header + Bytes{static_cast<std::uint32_t>(data.size())};
    std::memcpy(into.data() + 20 + header.count, data.data(), data.size());
    wire::PseudoHeader const pseudo{peer, device, 6, length};
    wire::write_checksum(into.subspan(20, length.count), header, pseudo,
                         wire::sum(into.subspan(20 + header.count, data.size())));
    wire::Ipv4Header ip;
    ip.source = peer;
    ip.destination = device;
    ip.protocol = wire::IpProtocol::tcp;
    ip.time_to_live = 64;
    ip.traffic_class = traffic_class;
    static_cast<void>(wire::write(ip, length, into));
    frames_.back().resize(20 + length.count);
  }

  // The frame that send() would add to the next burst.
  std::vector<std::byte> frame_of(const In& in) {
    send(in);
    auto frame = std::move(frames_.back());
    frames_.pop_back();
    return frame;
  }

  // Delivers the queued packets as one burst and runs one turn: events, then frames out.
  void turn() {
    std::vector<Ingress> burst;
    for (auto const& frame : frames_) {
      burst.push_back({frame, Checksum::unknown, stamped.ns != 0 ? stamped : now});
    }
    stack.receive(now, burst);
    stack.expire(now);
    Event event;
    while (stack.next_event(event)) {
      events.push_back(event);
      if (on_event) {
        on_event(event);
      }
      if (event.kind == EventKind::accepted || event.kind == EventKind::connected) {
        id = event.id;
      }
      if (auto_consume && event.kind == EventKind::received) {
        read(event.id);
      }
    }
    stack.settle();
    frames_.clear();
    pull();
    stack.check_invariants();
  }

  void deliver(const In& in) {
    send(in);
    turn();
  }
  // Delivers it and returns its drop reason, or Drop::none if it was accepted.
  Drop drop_of(const In& in) {
    auto const before = stack.statistics().drops;
    deliver(in);
    for (std::uint32_t i = 0; i < drop_count; ++i) {
      auto const drop = static_cast<Drop>(i);
      if (stack.statistics().drops.of(drop) != before.of(drop)) {
        return drop;
      }
    }
    return Drop::none;
  }
  // The packets of the next turn(), so that tests can corrupt them.
  std::vector<std::vector<std::byte>>& arriving() { return frames_; }
  // Queues a raw IP packet for the next turn().
  void send_packet(std::vector<std::byte> packet) { frames_.push_back(std::move(packet)); }
  // An ICMP error of this type and code about a segment that the stack sent.
  void send_icmp(wire::IcmpType type, std::uint8_t code, const Out& quoted) {
    send_packet(icmp_packet(type, code, quoted));
  }

  // --- time ---
  void advance(Duration by) {
    Instant const end = now + by;
    while (stack.deadline() <= end) {
      now = later(now, stack.deadline());
      turn();
    }
    now = end;
    turn();
  }

  // --- the application ---
  ListenerId listen() {
    ListenerId listener;
    Local local;
    local.port = {device_port};
    EXPECT_EQ(stack.listen(local, Backlog{}, listener), Refusal::none);
    return listener;
  }
  ConnectionId connect() {
    Open open;
    open.local = {device, {device_port}};
    open.remote = {peer, {peer_port}};
    EXPECT_EQ(stack.connect(open, id), Refusal::none);
    turn();
    return id;
  }
  void write(const std::string& data, More more = More::no) {
    Taken const taken = stack.write(id, bytes_of(data), more);
    EXPECT_EQ(taken.bytes.count, data.size());
    turn();
  }
  std::string read(ConnectionId from) {
    std::string out;
    for (auto part = stack.readable(from); !part.empty(); part = stack.readable(from)) {
      out.append(reinterpret_cast<const char*>(part.data()), part.size());
      stack.consume(from, Bytes{static_cast<std::uint32_t>(part.size())});
    }
    received += out;
    return out;
  }
  ConnectionInfo info() const { return stack.inspect(id); }
  FourTuple tuple() const { return {{device, {device_port}}, {peer, {peer_port}}}; }
  // The connection's state; CLOSED if there is none, even if there is a listener.
  State state() const {
    State const found = stack.state_of(tuple());
    return found == State::listen ? State::closed : found;
  }

  // --- output ---
  // All segments sent since the last call, one line each, joined by "; ".
  std::string sent() {
    std::string out;
    for (Out const& segment : out_) {
      out += (out.empty() ? "" : "; ") + line(segment);
    }
    out_.clear();
    return out;
  }
  std::vector<Out> take() {
    auto out = out_;
    out_.clear();
    return out;
  }
  bool notified(EventKind kind, Cause cause = Cause::none) const {
    for (Event const& event : events) {
      if (event.kind == kind && (cause == Cause::none || event.cause == cause)) {
        return true;
      }
    }
    return false;
  }
  std::uint64_t drops(Drop drop) const { return stack.statistics().drops.of(drop); }

  // --- states ---
  // A connection opened by the peer, in ESTABLISHED; the next number of both sides is 1.
  void accept_connection(std::uint16_t mss = 1460, std::uint16_t window = 65535) {
    listen();
    deliver({.flags = flag::syn, .window = window, .mss = mss});
    ASSERT_EQ(sent(), "SA 0(0) ack 1");
    deliver({.flags = flag::ack, .seq = 1, .ack = 1, .window = window});
    ASSERT_EQ(state(), State::established);
    ASSERT_EQ(sent(), "");
  }
  void socket_in(State wanted);

  static std::span<const std::byte> bytes_of(const std::string& data) {
    return std::as_bytes(std::span(data.data(), data.size()));
  }

  Instant now{};
  IpAddress device = IpAddress::v4(10, 0, 0, 1);
  IpAddress peer = IpAddress::v4(10, 0, 0, 2);
  Sequence peer_iss{0xffff'fff0};  // the stream wraps within its first octets
  Sequence device_iss{0};          // learned from the stack's SYN
  ConnectionId id;
  std::vector<Event> events;
  std::string received;
  bool auto_consume = true;
  std::function<void(const Event&)> on_event;  // called for each event
  std::uint8_t traffic_class = 0;              // of the peer's packets
  std::uint32_t stamp = 0;                     // the peer's timestamp on its segments; 0: none
  Instant stamped{};                           // the hardware timestamp of its packets; 0: none
  bool dont_fragment = false;                  // of the last segment sent
  bool keep_frames = false;
  std::vector<std::vector<std::byte>> frames_sent;  // raw frames, if a test keeps them
  std::uint32_t device_stamp = 0;  // the stack's last timestamp, which the peer echoes

 private:
  std::vector<std::byte> icmp_packet(wire::IcmpType type, std::uint8_t code, const Out& quoted) {
    std::array<std::byte, 40> quote{};
    wire::Segment s;
    s.source = quoted.tuple.local.port;
    s.destination = quoted.tuple.remote.port;
    s.sequence = quoted.absolute;
    s.flags = quoted.flags;
    static_cast<void>(wire::write(s, std::span(quote).subspan(20)));
    wire::Ipv4Header inner;
    inner.source = quoted.tuple.local.address;
    inner.destination = quoted.tuple.remote.address;
    inner.protocol = wire::IpProtocol::tcp;
    inner.time_to_live = 1;
    static_cast<void>(wire::write(inner, Bytes{20}, quote));
    std::vector<std::byte> packet(20 + 8 + 28);
    wire::IcmpMessage message;
    message.type = type;
    message.code = code;
    message.body = std::span(quote).first(28);
    Bytes const length = wire::write(message, std::span(packet).subspan(20));
    wire::Ipv4Header outer = inner;
    outer.source = peer;
    outer.destination = device;
    outer.protocol = wire::IpProtocol::icmp;
    outer.time_to_live = 64;
    static_cast<void>(wire::write(outer, length, packet));
    return packet;
  }

  std::span<std::byte> aligned() {
    auto const address = reinterpret_cast<std::uintptr_t>(arena_.data());
    return std::span(arena_).subspan((64 - address % 64) % 64);
  }

  void pull() {
    std::vector<std::byte> room(2048 + 65536);
    while (stack.wants_transmit()) {
      Egress const egress = stack.transmit(now, room);
      if (egress.length == 0) {
        break;
      }
      record(std::span(room).first(egress.length));
    }
  }

  void record(std::span<const std::byte> frame) {
    if (keep_frames) {
      frames_sent.emplace_back(frame.begin(), frame.end());
    }
    wire::Ipv4Packet packet;
    ASSERT_EQ(wire::parse(frame, packet), Drop::none);
    if (packet.header.protocol != wire::IpProtocol::tcp) {
      ++other_packets;
      return;
    }
    wire::Segment s;
    ASSERT_EQ(wire::parse(packet.payload, s), Drop::none);
    wire::PseudoHeader const pseudo{packet.header.source, packet.header.destination, 6,
                                    Bytes{static_cast<std::uint32_t>(packet.payload.size())}};
    ASSERT_TRUE(wire::checksum_verifies(pseudo, packet.payload));
    if (s.flags.syn()) {
      device_iss = s.sequence;
    }
    Out out;
    out.at = now;
    out.flags = s.flags;
    out.seq = s.sequence.value - device_iss.value;
    out.ack = s.acknowledgment.value - peer_iss.value;
    out.data.assign(reinterpret_cast<const char*>(s.payload.data()), s.payload.size());
    out.window = s.window.value;
    out.urgent = s.urgent;
    out.mss = s.options.has_mss ? s.options.mss : std::uint16_t{0};
    out.sack_permitted = s.options.has_sack_permitted;
    for (std::uint32_t i = 0; i < s.options.sack_count; ++i) {
      auto const [begin, end] = s.options.sack[i];
      out.sack += (i == 0 ? "" : " ") + std::to_string(begin.value - peer_iss.value) + "-" +
                  std::to_string(end.value - peer_iss.value);
    }
    out.absolute = s.sequence;
    out.tuple = {{packet.header.source, s.source}, {packet.header.destination, s.destination}};
    out.traffic_class = packet.header.traffic_class;
    out.time_to_live = packet.header.time_to_live;
    out.options = s.options;
    dont_fragment = packet.header.dont_fragment;
    if (s.options.has_timestamps) {
      device_stamp = s.options.timestamp_value;
    }
    out_.push_back(out);
  }

  std::vector<std::byte> arena_;
  std::vector<std::vector<std::byte>> frames_;
  std::vector<Out> out_;

 public:
  Stack stack;
  std::uint32_t other_packets = 0;
};

// Brings the kit's connection into a state by the shortest valid sequence. Relative numbers after
// it: the peer's next is 1, or 2 after its FIN; ours is 1, or 2 after our FIN.
inline void Kit::socket_in(State wanted) {
  if (wanted == State::syn_sent) {
    connect();
    ASSERT_EQ(sent(), "S 0(0)");
    return;
  }
  if (wanted == State::syn_received) {
    listen();
    deliver({.flags = flag::syn, .mss = 1460});
    ASSERT_EQ(sent(), "SA 0(0) ack 1");
    return;
  }
  accept_connection();
  bool const peer_first = wanted == State::close_wait || wanted == State::last_ack;
  if (peer_first) {
    deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 1});
    ASSERT_EQ(sent(), "A 1(0) ack 2");
  }
  if (wanted == State::fin_wait_1 || wanted == State::fin_wait_2 || wanted == State::closing ||
      wanted == State::time_wait || wanted == State::last_ack) {
    ASSERT_EQ(stack.finish(id), Refusal::none);
    turn();
    ASSERT_EQ(sent(), peer_first ? "FA 1(0) ack 2" : "FA 1(0) ack 1");
  }
  if (wanted == State::closing) {
    deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 1});
    ASSERT_EQ(sent(), "A 2(0) ack 2");
  }
  if (wanted == State::fin_wait_2 || wanted == State::time_wait) {
    deliver({.flags = flag::ack, .seq = 1, .ack = 2});
    ASSERT_EQ(sent(), "");
  }
  if (wanted == State::time_wait) {
    deliver({.flags = flag::fin | flag::ack, .seq = 1, .ack = 2});
    ASSERT_EQ(sent(), "A 2(0) ack 2");
  }
  ASSERT_EQ(state(), wanted);
}

}  // namespace lockstep::testing
