// Builds a captured conversation for tests, segment by segment.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "conformance/replay/flow.hpp"
#include "conformance/replay/scenario.hpp"
#include "tools/base/capture/octets.hpp"

namespace lockstep::conformance {

/// Sequence numbers are relative: SYN is 0, the first octet 1. Times are in milliseconds.
class Conversation {
 public:
  static constexpr std::uint32_t device_isn = 0xffff'fff0, peer_isn = 0x7fff'fff0;
  static constexpr std::uint32_t mss = 1460;

  Conversation() : Conversation(IpAddress::v4(10, 0, 0, 1), IpAddress::v4(10, 0, 0, 2)) {}
  Conversation(IpAddress device, IpAddress peer)
      : device_{device, Port{80}}, peer_{peer, Port{40000}} {
    flow_.first = peer_;
    flow_.second = device_;
  }

  struct Numbers {
    std::uint32_t seq = 0, ack = 0, bytes = 0;
    std::uint16_t window = 65'535;
  };

  Conversation& device(std::uint64_t ms, std::string_view flags, Numbers numbers) {
    return add(ms, flags, numbers, true);
  }
  Conversation& peer(std::uint64_t ms, std::string_view flags, Numbers numbers) {
    return add(ms, flags, numbers, false);
  }

  /// SYN, SYN-ACK, ACK. The device is the passive side, 10 ms away.
  Conversation& handshake() {
    peer(0, "S", {0, 0, 0});
    device(0, "SA", {0, 1, 0});
    return peer(10, "A", {1, 1, 0});
  }

  /// Adds timestamps to the last segment.
  Conversation& stamp(std::uint32_t value, std::uint32_t echo) {
    put_stamps(last(), value, echo);
    return *this;
  }

  /// Adds timestamps to all segments: those of the time of capture, in milliseconds.
  Conversation& clocks() {
    std::uint32_t devices = 0;
    std::uint32_t peers = 0;
    for (tools::Segment& segment : flow_.segments) {
      bool const ours = segment.source == device_;
      std::uint32_t& own = ours ? devices : peers;
      own = static_cast<std::uint32_t>(segment.time.since(Instant{}).ns / 1'000'000);
      put_stamps(segment, own, ours ? peers : devices);
    }
    return *this;
  }

  /// The capture began more than a minute before the first segment.
  Conversation& recorded_early() {
    flow_.recorded_since = Instant{};
    for (tools::Segment& segment : flow_.segments) {
      segment.time = segment.time + Duration::seconds(64);
    }
    return *this;
  }

  /// Numbers the IPv4 packets of each side without a gap, as Linux does within a connection.
  Conversation& identify() {
    std::uint16_t devices = 0;
    std::uint16_t peers = 0;
    for (tools::Segment& segment : flow_.segments) {
      segment.identification = segment.source == device_ ? ++devices : ++peers;
    }
    return *this;
  }

  const Flow& flow() const { return flow_; }
  const Endpoint& device_side() const { return device_; }
  tools::Segment& last() { return flow_.segments.back(); }
  tools::Segment& packet(std::uint64_t number) { return flow_.segments[number - 1]; }

 private:
  static void put_stamps(tools::Segment& segment, std::uint32_t value, std::uint32_t echo) {
    std::vector<std::byte>& options = segment.options;
    options.insert(options.end(), {std::byte{1}, std::byte{1}, std::byte{8}, std::byte{10}});
    tools::put_long(options, value);
    tools::put_long(options, echo);
  }

  Conversation& add(std::uint64_t ms, std::string_view flags, Numbers numbers, bool from_device) {
    tools::Segment segment;
    segment.number = flow_.segments.size() + 1;
    segment.time = Instant{} + Duration::milliseconds(1000 + ms);
    segment.source = from_device ? device_ : peer_;
    segment.destination = from_device ? peer_ : device_;
    segment.flags = *flags_from_letters(flags);
    segment.sequence = numbers.seq + (from_device ? device_isn : peer_isn);
    if (segment.any(tools::tcp_flag::ack)) {
      segment.acknowledgment = numbers.ack + (from_device ? peer_isn : device_isn);
    }
    segment.window = numbers.window;
    if (segment.any(tools::tcp_flag::syn)) {
      segment.options = {std::byte{2}, std::byte{4}, std::byte{mss >> 8}, std::byte{mss & 0xff}};
    }
    for (std::uint32_t i = 0; i < numbers.bytes; ++i) {
      segment.payload.push_back(static_cast<std::byte>((numbers.seq + i) % 251));
    }
    flow_.segments.push_back(std::move(segment));
    return *this;
  }

  Endpoint device_;
  Endpoint peer_;
  Flow flow_;
};

}  // namespace lockstep::conformance
