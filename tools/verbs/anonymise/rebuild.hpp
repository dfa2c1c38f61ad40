// Builds frames anew from what the decoder understood, so that nothing else can be carried over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tools/base/capture/capture.hpp"
#include "tools/base/capture/decode.hpp"
#include "tools/verbs/anonymise/aliases.hpp"
#include "tools/verbs/anonymise/options.hpp"

namespace lockstep::tools {

/// An Ethernet frame to write.
struct Rebuilt {
  std::vector<std::byte> bytes;
  std::uint32_t cut = 0;  ///< octets on the wire beyond `bytes`
};

/// An ARP packet about IPv4 on Ethernet.
struct Arp {
  std::uint16_t operation = 0;
  Mac sender_mac, target_mac;
  IpAddress sender, target;
};

std::optional<Arp> arp_of(const CapturedFrame& frame, LinkLayer link);

/// What was replaced.
struct RebuildCounts {
  OptionCounts options;
  std::uint64_t payload_octets = 0;
};

class Rebuilder {
 public:
  explicit Rebuilder(Aliases& aliases) : aliases_(aliases) {}

  /// A frame that decode() reads as it does this one, but for what is replaced: tunnels, VLAN tags,
  /// IP options and extension headers are gone. Only TCP, ICMP errors about it and ARP have a
  /// content; of other frames the kind, the addresses and the times are left.
  Rebuilt rebuild(const CapturedFrame& frame, LinkLayer link, const Decoded& decoded);
  const RebuildCounts& counts() const { return counts_; }

 private:
  void begin_frame(const CapturedFrame& frame, LinkLayer link, std::uint16_t type);
  void put_tcp(const Segment& segment);
  void put_icmp(const CapturedFrame& frame, const Decoded& decoded);
  void put_quoted(std::span<const std::byte> quoted, const IcmpError& error, bool v6);
  void put_quoted_tcp(std::span<const std::byte> tcp, const IcmpError& error);
  void put_arp(const Arp& arp);
  void put_fragment(const Decoded& decoded);
  void put_malformed(const Decoded& decoded);
  void put_empty(const Decoded& decoded);
  OptionShifts shifts_of(const IpAddress& source, const IpAddress& destination) const;
  std::uint32_t acknowledgment_of(std::uint32_t number, bool counts,
                                  const IpAddress& destination) const;
  std::uint32_t sequence_of(std::uint32_t number, bool reset, const IpAddress& source) const;

  Aliases& aliases_;
  RebuildCounts counts_;
  Rebuilt out_;
};

}  // namespace lockstep::tools
