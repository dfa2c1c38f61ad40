// A flow with profile default (a bare Config), and routers that report smaller path MTUs.
#pragma once

#include <string>
#include <vector>

#include "core/stack/testing/flow_kit.hpp"

namespace lockstep::testing {

// The default configuration: timestamps, SACK, RACK, ECN and path MTU discovery together.
inline Config sender_config() {
  Config config;
  config.link = LinkType::ip;
  config.addresses[0] = {IpAddress::v4(10, 0, 0, 1), 24};
  config.address_count = Count{1};
  config.tcp.send_buffer = Bytes{1 << 20};
  return config;
}

// A peer with SACK, and with timestamps unless `stamp` is zero.
inline Peer bare_peer(std::uint16_t mss = 1460, std::uint32_t stamp = 1000) {
  Peer peer;
  peer.mss = mss;
  peer.round_trip = Duration::milliseconds(50);
  peer.sack = true;
  peer.stamp = stamp;
  return peer;
}

// "Fragmentation needed" about a segment that was sent, from a router with this next-hop MTU.
inline void queue_too_big(Kit& kit, const Out& quoted, std::uint16_t mtu) {
  kit.send_icmp(wire::IcmpType::unreachable, 4, quoted);
  auto& packet = kit.arriving().back();
  auto const octet = [](std::uint32_t value) { return static_cast<std::byte>(value & 0xff); };
  packet[26] = octet(mtu >> 8u);
  packet[27] = octet(mtu);
  packet[22] = std::byte{0};
  packet[23] = std::byte{0};
  std::uint32_t const sum = wire::sum(std::span(packet).subspan(20)).checksum();
  packet[22] = octet(sum >> 8);
  packet[23] = octet(sum);
}

inline void deliver_too_big(Kit& kit, const Out& quoted, std::uint16_t mtu) {
  queue_too_big(kit, quoted, mtu);
  kit.turn();
}

// A stream in 64 KiB segments that never ends, to pass sequence numbers 2^31 and 2^32 quickly. The
// peer acknowledges half of the data in flight at a time, a millisecond later.
class LongFlow : public Kit {
 public:
  explicit LongFlow(Config config = sender_config(), bool ecn = true) : Kit(large(config)) {
    auto_consume = false;
    stack.bind(RegionId{0}, content());
    listen();
    wire::Options options;
    options.has_window_scale = true;
    options.window_scale = {14};
    Flags const asks = ecn ? flag::syn | flag::ece | flag::cwr : Flags{flag::syn};
    deliver({.flags = asks, .mss = 65'495, .options = options, .sack_permitted = true});
    deliver({.flags = flag::ack, .seq = 1, .ack = 1, .window = window});
    fill();
  }

  // The application always has more to send than fits.
  void fill() {
    while (!stack.lend(id, {RegionId{0}, 0, 1u << 24}, More::yes).bytes.empty()) {
    }
    turn();
  }
  std::uint32_t flight() const { return info().send.nxt.since(info().send.una).count; }
  // SND.UNA and SND.NXT relative to our ISS, modulo 2^32.
  std::uint32_t una() const { return info().send.una.value - device_iss.value; }
  std::uint32_t nxt() const { return info().send.nxt.value - device_iss.value; }
  void ack(std::uint32_t number, Flags more = {}) {
    now = now + Duration::milliseconds(1);
    deliver({.flags = flag::ack | more, .seq = 1, .ack = number, .window = window});
    fill();
  }
  void sack(std::uint32_t number, std::uint32_t begin, std::uint32_t end) {
    now = now + Duration::milliseconds(1);
    deliver(
        {.flags = flag::ack, .seq = 1, .ack = number, .window = window, .sack = {{begin, end}}});
    fill();
  }
  // Continues until `count` more octets are acknowledged; data is in flight all the time.
  void carry(std::uint64_t count) {
    std::uint64_t done = 0;
    while (done < count) {
      std::uint32_t const half = (flight() + 1) / 2;
      ack(una() + half);
      done += half;
      static_cast<void>(take());
    }
  }
  static constexpr std::uint32_t segment = 65'495;
  std::uint16_t window = 2048;  // 32 MiB

 private:
  static Config large(Config config) {
    set_mtu(config, Bytes{65'535});
    config.tcp.send_buffer = Bytes{1 << 26};
    config.tcp.send_buffer_max = Bytes{1 << 26};
    config.tcp.hystart = false;
    return config;
  }
  static std::span<const std::byte> content() {
    static std::vector<std::byte> const octets(1u << 24);
    return octets;
  }
};

}  // namespace lockstep::testing
