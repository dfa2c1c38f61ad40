// Decodes a captured frame as far as possible: link header, VLAN tags, IP, TCP.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/units/address.hpp"
#include "core/units/time.hpp"
#include "tools/base/capture/capture.hpp"

namespace lockstep::tools {

/// The result of decoding. Only `tcp` and `icmp_error` fill in more than the kind and the addresses
/// of the innermost IP packet, which `fragment` and `not_tcp` set if they are known.
enum class FrameKind : std::uint8_t {
  tcp,
  icmp_error,  ///< an ICMP or ICMPv6 error that quotes a TCP segment
  not_ip,
  not_tcp,
  fragment,   ///< of TCP; or of a tunnel's packet, whose inner addresses are unknown: none are set
  cut_short,  ///< the capture ends inside the headers
  malformed,  ///< contradictory lengths
};

std::string_view name_of(FrameKind kind);

/// The number of frames of each kind in a capture.
using FrameCounts = std::array<std::uint64_t, 7>;

/// The kinds other than TCP, as "3 not IP, 1 a fragment"; empty if there are none.
std::string other_frames(const FrameCounts& counts);

/// Throws Failure (bad_input) if no frame is TCP or could have been.
void expect_tcp(const std::string& capture, std::uint64_t packets, const FrameCounts& counts);

/// partial: only the pseudo-header is summed, with or without the length, as in the sender's own
/// capture when the hardware computes the rest. unverifiable: the capture does not have all bytes.
enum class SumState : std::uint8_t { good, bad, partial, unverifiable };

namespace tcp_flag {
inline constexpr std::uint8_t fin = 0x01, syn = 0x02, rst = 0x04, psh = 0x08, ack = 0x10,
                              urg = 0x20, ece = 0x40, cwr = 0x80;
}

/// A TCP segment as captured, in host byte order.
struct Segment {
  std::uint64_t number = 0;  ///< of the packet in the file
  Instant time;
  Endpoint source, destination;
  std::uint32_t sequence = 0;
  std::uint32_t acknowledgment = 0;
  std::uint8_t flags = 0;
  std::uint8_t reserved = 0;  ///< the four bits after the data offset
  std::uint16_t window = 0;
  std::uint16_t urgent = 0;
  std::vector<std::byte> options;
  std::vector<std::byte> payload;
  std::uint32_t missing = 0;  ///< payload bytes that the capture truncated
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 0;        ///< IPv4: time to live
  std::uint16_t identification = 0;  ///< of the IPv4 header
  std::uint32_t network =
      0;  ///< a number of the VLANs, and of the VXLAN or Geneve network; 0: none
  SumState sum = SumState::good;
  SumState header_sum = SumState::good;  ///< of the IPv4 header; partial: the field is 0
  bool ipv6 = false;

  bool has(std::uint8_t bits) const { return (flags & bits) == bits; }
  bool any(std::uint8_t bits) const { return (flags & bits) != 0; }
  std::uint32_t data_bytes() const { return static_cast<std::uint32_t>(payload.size()) + missing; }
  /// SEG.LEN: data and one each for SYN and FIN.
  std::uint32_t length() const {
    return data_bytes() + (any(tcp_flag::syn) ? 1u : 0u) + (any(tcp_flag::fin) ? 1u : 0u);
  }
  std::uint32_t end() const { return sequence + length(); }
};

/// An ICMP error, and the tuple of the quoted segment, which `source` sent.
struct IcmpError {
  std::uint64_t number = 0;
  Instant time;
  IpAddress sender;
  Endpoint quoted_source, quoted_destination;
  std::uint32_t quoted_sequence = 0;
  std::vector<std::byte> message;  ///< the ICMP message from its header on
};

struct Decoded {
  FrameKind kind = FrameKind::not_ip;
  Segment segment;  ///< of a malformed header only the state of its checksum is set
  IcmpError icmp;
};

Decoded decode(const CapturedFrame& frame, LinkLayer link);

/// An option of a TCP header; `data` follows its length octet.
struct TcpOption {
  std::uint8_t kind = 0;
  std::span<const std::byte> data;
};

/// The options in order, without padding; stops at the first malformed one.
std::vector<TcpOption> options_of(const Segment& segment);

/// "SYN,ACK", or "none".
std::string flags_text(std::uint8_t flags);
/// "10.0.0.1:80", "[fe80::1]:80".
std::string text_of(const Endpoint& endpoint);

}  // namespace lockstep::tools
