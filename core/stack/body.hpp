// The parts of a Stack: handles on its arena, and the state that is not in its snapshot.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "core/internet/addresses.hpp"
#include "core/internet/fragments.hpp"
#include "core/internet/icmp_errors.hpp"
#include "core/internet/icmp_input.hpp"
#include "core/internet/icmpv6_errors.hpp"
#include "core/internet/ip_input.hpp"
#include "core/internet/ipv6_input.hpp"
#include "core/internet/ipv6_routes.hpp"
#include "core/internet/replies.hpp"
#include "core/internet/routes.hpp"
#include "core/link/discovery.hpp"
#include "core/link/neighbours.hpp"
#include "core/memory/arena.hpp"
#include "core/stack/config.hpp"
#include "core/stack/frame.hpp"
#include "core/stack/stack.hpp"
#include "core/stack/statistics.hpp"
#include "core/tcp/engine.hpp"
#include "core/tcp/train.hpp"
#include "core/wire/ethernet.hpp"
#include "core/wire/tcp.hpp"

namespace lockstep {

// The result of the first pass over a burst for one frame, which changes no protocol state.
struct Parsed {
  enum class Kind : std::uint8_t {
    dropped,
    arp,
    icmp,
    unknown_protocol,
    tcp,
    icmp6,
    parameter_problem,
    fragment,
    follower  // a segment with the headers of the one before it: `segment` has what differs
  };
  Kind kind = Kind::dropped;
  Drop drop = Drop::none;
  std::uint32_t hash = 0;  // of the four-tuple, if this is a segment
  Mac from;
  Instant arrived;
  wire::ArpPacket arp;
  internet::IpArrival ip;
  wire::Segment segment;
  wire::Ipv6Packet six;  // of an IPv6 packet
};

// The Cause that an ICMP error is reported with.
Cause cause_of(const internet::IcmpError& error);

// Results for the last segment, as the next one is mostly of the same connection. They follow from
// the configuration, so they are in no snapshot and no fingerprint.
struct Recent {
  internet::KnownPath path;
  Port local;  // ports of a segment on `path`, or 0, which no segment has
  Port remote;
  std::uint32_t hash = 0;  // of the four-tuple that path and ports make
};

// The state of this layer, in the arena.
struct StackState {
  internet::RateState echo_rate;
  internet::RateState error_rate;
  std::uint32_t lent = 0;              // frames received since the last settle
  bool reply_went_last = false;        // replies get every second frame while data waits
  bool link_answer_went_last = false;  // ARP or ND did, so a reply is next
  bool turn_open = false;              // frames are on loan: no snapshot now
};

// Lies at the front of the arena. `state` is the part of the arena that a snapshot holds.
struct Stack::Body {
  Config config;
  internet::Addresses addresses;
  internet::Routes routes;
  internet::Ipv6Routes routes6;
  link::Neighbours neighbours;
  link::Discovery discovery;
  internet::Fragments fragments;
  internet::Replies parked;  // replies that wait for a neighbour
  tcp::Engine engine;
  memory::View<Parsed> parsed;  // scratch of one receive()
  Recent recent;
  tcp::Train train;
  std::uint32_t link_bytes = 0;  // of each frame's link header
  std::span<std::byte> state;    // the part of the arena that a snapshot holds
  StackState* common = nullptr;
  Statistics* statistics = nullptr;

  bool has_link() const { return config.link == LinkType::ethernet; }
  bool has_discovery() const { return has_link() && addresses.has_v6(); }
  // One bit for each IPv4 address of ours that is being tested, or that another host has.
  std::uint32_t untested_v4() const { return neighbours.unusable(); }
  // The largest body of an ICMP message that we send.
  std::size_t icmp_body_max() const {
    return engine.state->mtu4.count - wire::ipv4_header_bytes - wire::icmp_header_bytes;
  }

  // core/stack/stack.cpp: sets the time; the first call starts the stack.
  void set_time(Instant now);
  void note_stall(Instant now);

  // core/stack/stack.cpp: fills the ports and the hash of `recent` if its path is the connection's.
  void expect_answer(const tcp::Connection& c);
  std::uint16_t beside(std::uint16_t index) const;
  bool may_connect_from(std::uint16_t address) const;
  // Whether a handshake is under way: O(connections).
  bool is_opening() const;
  Refusal choose_local(const Open& open, IpAddress& local, std::uint16_t& index);

  // core/stack/ingress.cpp
  void parse_frame(const Ingress& frame, Parsed& out);
  bool parse_follower(const Ingress& before, const Parsed& first, const Ingress& frame,
                      Parsed& out) const;
  Drop process_follower(const Ingress& frame, const Parsed& first, Parsed& scratch);
  void parse_ip(std::span<const std::byte> bytes, bool to_group, Checksum checksum, Parsed& out);
  void parse_ethernet(const Ingress& frame, Parsed& out);
  Instant arrival_of(const Parsed& frame) const;
  Drop process(Parsed& frame);
  Drop process_other(Parsed& frame);
  Drop process_arp(const Parsed& frame);
  Drop process_icmp(const Parsed& frame);
  void answer_echo(const Parsed& frame, wire::IcmpMessage request);
  void send_icmp_error(internet::IpArrival& about, std::optional<Mac> hop,
                       const internet::IcmpErrorToSend& error);
  void parse_ip6(std::span<const std::byte> bytes, bool to_group, Checksum checksum, Parsed& out);
  void notify_waiting(link::NeighbourChange change);
  void expire_lower(std::uint32_t timer, Instant now);
  void drain_neighbours();
  void move_reply(internet::Replies& from, internet::Replies& to);

  // core/stack/reassembly.cpp
  Drop reassemble(Parsed& frame);
  void expire_datagram(memory::Index index);
  Drop process_error(const internet::IcmpError& error);

  // core/stack/ipv6.cpp
  std::uint32_t usable_addresses() const;  // one bit for each usable address of ours
  bool is_usable(std::uint16_t address) const;
  bool next_hop6(IpAddress destination, IpAddress& out);
  link::Lookup resolve6(IpAddress destination, IpAddress source, link::Asker asker);
  void doubt6(IpAddress destination);
  void confirm6(IpAddress source);
  Drop process_segment6(const tcp::InboundSegment& arrival);
  void follow_link();
  Drop process_discovery(const Parsed& frame, const wire::Icmp6Message& message);
  Drop process_icmp6(const Parsed& frame);
  void answer_echo6(const Parsed& frame, wire::Icmp6Message request);
  void send_icmp6_error(const Parsed& frame, const internet::Icmp6ErrorToSend& complaint);

  // core/stack/egress.cpp
  Egress transmit(std::span<std::byte> into);
  Egress transmit_answer(std::span<std::byte> into);
  Egress transmit_link_answer(std::span<std::byte> into);
  Egress transmit_reply(std::span<std::byte> into);
  Egress transmit_first(std::span<std::byte> into);
  Egress transmit_connection(std::span<std::byte> into);
  Egress transmit_follower(std::span<std::byte> into);
  bool answers_nothing() const;

  // core/stack/observe.cpp
  template <class Add>
  void visit(Add&& add) const;
};

inline Stack::Body& Stack::changing() {
  body_->train.left = 0;
  return *body_;
}

}  // namespace lockstep
