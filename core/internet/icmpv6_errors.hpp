// ICMPv6 messages that this host sends: echo replies and errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/internet/ip_input.hpp"
#include "core/wire/icmpv6.hpp"
#include "core/wire/ipv6.hpp"

namespace lockstep::internet {

// The error to send. `rest` is the second word of its header.
struct Icmp6ErrorToSend {
  wire::Icmp6Type type = wire::Icmp6Type::parameter_problem;
  std::uint8_t code = 0;
  std::uint32_t rest = 0;
  bool to_group_too = false;  // may answer a packet sent to a group
};

// Whether a packet may be answered by this error: RFC 4443 2.4 (e).
[[nodiscard]] bool may_send_error6(const Icmp6ErrorToSend& complaint, const IpArrival& about);

// The length of an error about a packet, and its octets: quotes as much of the packet as fits into
// 1280 octets (RFC 4443 2.4 (c)). `path` is the path of the error.
Bytes error6_bytes(const IpArrival& about);
Bytes write_error6(const wire::Icmp6Path& path, const Icmp6ErrorToSend& complaint,
                   const IpArrival& about, std::span<std::byte> into);

// The reply to an echo request with all of its data; `body` is the part that fits the link MTU.
Bytes write_echo_reply6(const wire::Icmp6Path& path, const wire::Icmp6Message& request,
                        std::span<std::byte> into);

}  // namespace lockstep::internet
