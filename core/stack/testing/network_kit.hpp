// Several stacks in one network: a delay, random loss, and a router that limits the packet size.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "core/stack/stack.hpp"
#include "core/stack/testing/test_keys.hpp"
#include "core/units/hash.hpp"
#include "core/units/random.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/icmp.hpp"
#include "core/wire/icmpv6.hpp"
#include "core/wire/ipv4.hpp"
#include "core/wire/ipv6.hpp"
#include "core/wire/octets.hpp"

namespace lockstep::testing {

// Links have LinkType::ip. All packets take the same time, so none are reordered.
class Network {
 public:
  using Packet = std::vector<std::byte>;
  struct Path {
    Duration delay = Duration::milliseconds(5);
    Probability loss{};          // of packets while `loses` says so
    std::uint32_t mtu = 0xffff;  // larger packets of host 0 are dropped and reported
    Probability mark{};          // of CE on packets of IPv4 with ECT
  };

  explicit Network(const Path& initial, std::uint64_t seed = 1) : path(initial), draw_(seed) {}

  // Adds the host with the address of `config`; returns its number.
  std::size_t add(Config config) {
    config.link = LinkType::ip;
    config = test_keys(config);
    hosts_.push_back(std::make_unique<Host>(config));
    by_address_.emplace_back(config.addresses[0].address, hosts_.size() - 1);
    hosts_.back()->stack.receive(now, {});
    return hosts_.size() - 1;
  }
  Stack& stack(std::size_t host) { return hosts_[host]->stack; }

  // Runs until `end`, or until `done` says so.
  void run(Instant end, const std::function<bool()>& done = [] { return false; }) {
    while (!done()) {
      Instant next = flying_.empty() ? end : earlier(end, flying_.front().due);
      for (auto const& host : hosts_) {
        next = earlier(next, host->stack.deadline());
      }
      now = later(now, next);
      if (now >= end) {
        break;
      }
      for (; !flying_.empty() && flying_.front().due <= now; flying_.pop_front()) {
        hosts_[flying_.front().to]->in.push_back(std::move(flying_.front().packet));
      }
      for (std::size_t i = 0; i < hosts_.size(); ++i) {
        if (!hosts_[i]->in.empty() || hosts_[i]->stack.deadline() <= now) {
          turns(i);
        }
      }
    }
  }
  void run(Duration time) { run(now + time); }

  Path path;
  Instant now = Instant{} + Duration::seconds(1000);
  std::function<void(std::size_t host, const Event&)> on_event;
  std::function<bool(const Packet&)> loses = [](const Packet&) { return true; };
  std::uint64_t reported = 0;  // packets that were too big
  Fingerprint sent;            // of all octets of all packets
  // Each frame is received by a call of its own, and a call without an effect separates those that
  // are sent: so each is decided on by itself.
  bool each_alone = false;

 private:
  struct Host {
    explicit Host(const Config& config)
        : arena(Stack::arena_bytes(config) + 64), stack(config, aligned()) {}
    std::span<std::byte> aligned() {
      auto const address = reinterpret_cast<std::uintptr_t>(arena.data());
      return std::span(arena).subspan((64 - address % 64) % 64);
    }
    std::vector<std::byte> arena;
    Stack stack;
    std::vector<Packet> in;
  };
  struct Flying {
    Instant due;
    std::size_t to = 0;
    Packet packet;
  };

  // Turns of one host until it has processed what has arrived.
  void turns(std::size_t at) {
    Stack& stack = hosts_[at]->stack;
    std::vector<Packet> const in = std::move(hosts_[at]->in);
    hosts_[at]->in.clear();
    std::size_t taken = 0;
    do {
      std::vector<Ingress> burst;
      for (; taken < in.size() && burst.size() < 64; ++taken) {
        burst.push_back({in[taken], Checksum::unknown, now});
      }
      if (each_alone) {
        for (const Ingress& frame : burst) {
          stack.receive(now, {&frame, 1});
        }
      } else {
        stack.receive(now, burst);
      }
      stack.expire(now);
      Event event;
      while (stack.next_event(event)) {
        on_event(at, event);
      }
      stack.settle();
      Packet room(70'000);
      while (stack.wants_transmit()) {
        Egress const egress = stack.transmit(now, room);
        if (egress.length == 0) {
          break;
        }
        send(at, {room.begin(), room.begin() + egress.length});
        if (each_alone) {
          stack.settle();
        }
      }
    } while (taken < in.size());
  }

  void send(std::size_t from, Packet packet) {
    for (std::byte const octet : packet) {
      sent.add(std::to_integer<std::uint8_t>(octet));
    }
    if (path.mark.per_billion != 0 && is_v4(packet) && draw_.chance(path.mark)) {
      mark(packet);
    }
    if (from == 0 && packet.size() > path.mtu) {
      ++reported;
      fly(0, too_big(packet));
    } else if (path.loss.per_billion == 0 || !loses(packet) || !draw_.chance(path.loss)) {
      std::size_t const to = destination_of(packet);
      fly(to, std::move(packet));
    }
  }
  void fly(std::size_t to, Packet packet) {
    flying_.push_back({now + path.delay, to, std::move(packet)});
  }
  static void mark(Packet& packet) {
    constexpr std::byte ce{3};
    if ((packet[1] & ce) == std::byte{0}) {
      return;
    }
    std::uint16_t const before = wire::load16(&packet[0]);
    packet[1] |= ce;
    wire::store16(&packet[10], wire::updated_checksum(wire::load16(&packet[10]),
                                                      {before, wire::load16(&packet[0])}));
  }
  static bool is_v4(const Packet& packet) {
    return (packet[0] & std::byte{0xf0}) == std::byte{0x40};
  }
  std::size_t destination_of(const Packet& packet) const {
    wire::Ipv4Packet four;
    wire::Ipv6Packet six;
    bool const v4 = is_v4(packet);
    Drop const drop = v4 ? wire::parse(packet, four) : wire::parse(packet, six);
    EXPECT_EQ(drop, Drop::none);
    IpAddress const to = v4 ? four.header.destination : six.header.destination;
    auto const found =
        std::ranges::find_if(by_address_, [&](auto const& each) { return each.first == to; });
    return found == by_address_.end() ? 0 : found->second;
  }
  // What the router sends to host 0.
  Packet too_big(const Packet& packet) const {
    IpAddress const host = by_address_[0].first;
    if (is_v4(packet)) {
      Packet out(20 + 8 + 28);
      wire::IcmpMessage message;
      message.type = wire::IcmpType::unreachable;
      message.code = static_cast<std::uint8_t>(wire::Unreachable::fragmentation_needed);
      message.rest = path.mtu;
      message.body = std::span(packet).first(28);
      Bytes const length = wire::write(message, std::span(out).subspan(20));
      wire::Ipv4Header ip;
      ip.source = IpAddress::v4(10, 255, 0, 1);
      ip.destination = host;
      ip.protocol = wire::IpProtocol::icmp;
      ip.time_to_live = 64;
      static_cast<void>(wire::write(ip, length, out));
      return out;
    }
    IpAddress const router{0x2001'0db8'00ff'0000, 1};
    auto const quote = std::span(packet).first(100);
    Packet out(wire::ipv6_header_bytes + wire::icmp6_header_bytes + quote.size());
    wire::write({router, host}, {wire::Icmp6Type::packet_too_big, 0, path.mtu, quote},
                std::span(out).subspan(wire::ipv6_header_bytes));
    wire::Ipv6Header ip;
    ip.source = router;
    ip.destination = host;
    ip.next_header = 58;
    ip.hop_limit = 64;
    wire::write(ip, Bytes{static_cast<std::uint32_t>(out.size() - wire::ipv6_header_bytes)}, out);
    return out;
  }

  Random draw_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<std::pair<IpAddress, std::size_t>> by_address_;
  std::deque<Flying> flying_;
};

}  // namespace lockstep::testing
