// ICMPv6 messages that this host sends: echo replies and errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/internet/ip_input.hpp"
#include "core/wire/icmpv6.hpp"
#include "core/wire/ipv6.hpp"

namespace lockstep::internet {

// Which error. `rest` is the second word of its header.
struct Icmp6ErrorToSend {
  wire::Icmp6Type type = wire::Icmp6Type::parameter_problem;
  std::uint8_t code = 0;
  std::uint32_t rest = 0;
  bool to_group_too = false;  // it may answer a packet that was sent to a group
};

// Whether a packet may be answered by this error at all: RFC 4443 2.4 (e).
[[nodiscard]] bool may_send_error6(const Icmp6ErrorToSend& complaint, const IpArrival& about);

// The length of an error about a packet, and its octets: it quotes as much of the packet as 1280
// octets hold (RFC 4443 2.4 (c)). `path` is that of the error.
Bytes error6_bytes(const IpArrival& about);
Bytes write_error6(const wire::Icmp6Path& path, const Icmp6ErrorToSend& complaint,
                   const IpArrival& about, std::span<std::byte> into);

// The reply to an echo request: all of its data, of which `body` is what fits the link.
Bytes write_echo_reply6(const wire::Icmp6Path& path, const wire::Icmp6Message& request,
                        std::span<std::byte> into);

}  // namespace lockstep::internet
