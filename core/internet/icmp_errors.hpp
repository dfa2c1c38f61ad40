// ICMP messages that this host sends: echo replies and errors, rate-limited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/internet/ip_input.hpp"
#include "core/units/bytes.hpp"
#include "core/units/time.hpp"
#include "core/wire/icmp.hpp"

namespace lockstep::internet {

// A rate limit: `per_second` on average, `burst` at once.
struct Rate {
  Count per_second{1000};  // 0: never
  Count burst{50};         // at least 1
};

// State of a rate limit, in the arena: when the full burst is available again.
struct RateState {
  Instant unspent;
};

// Whether an event may happen now; if so, counts it.
[[nodiscard]] bool allow(const Rate& rate, RateState& state, Instant now);

// The length of the reply to an echo request, and its octets: ICMP header, checksum and all data.
Bytes echo_reply_bytes(const wire::IcmpMessage& request);
Bytes write_echo_reply(const wire::IcmpMessage& request, std::span<std::byte> into);

// The error to send. `rest` is the second word of its header.
struct IcmpErrorToSend {
  wire::IcmpType type = wire::IcmpType::unreachable;
  std::uint8_t code = 0;
  std::uint32_t rest = 0;
};

// Whether a packet may be answered by an ICMP error: RFC 1122 3.2.2.
[[nodiscard]] bool may_send_error(const IpArrival& about);

// The length of an error about a packet, and its octets: quotes the IP header and what follows, up
// to 548 octets (RFC 1122 3.2.2; the packet has at most 576).
Bytes error_bytes(const IpArrival& about);
Bytes write_error(const IcmpErrorToSend& complaint, const IpArrival& about,
                  std::span<std::byte> into);

}  // namespace lockstep::internet
