// Writing ICMP messages, and their rate limit.
#include "core/internet/icmp_errors.hpp"

#include <algorithm>

#include "core/units/check.hpp"

namespace lockstep::internet {
namespace {

constexpr std::uint32_t quote_bytes_max = 548;

std::span<const std::byte> quote_of(const IpArrival& about) {
  std::span<const std::byte> const bytes = about.packet.bytes;
  return bytes.first(std::min<std::size_t>(bytes.size(), quote_bytes_max));
}

wire::IcmpMessage reply_to(const wire::IcmpMessage& request) {
  wire::IcmpMessage reply = request;
  reply.type = wire::IcmpType::echo_reply;
  reply.code = 0;
  return reply;
}

}  // namespace

bool allow(const Rate& rate, RateState& state, Instant now) {
  if (rate.per_second.value == 0) {
    return false;
  }
  // Each use costs one interval of the burst; time restores it.
  Duration const interval = Duration::seconds(1) / rate.per_second.value;
  Instant const begin = later(state.unspent, now);
  if (begin.since(now) + interval > interval * rate.burst.value) {
    return false;
  }
  state.unspent = begin + interval;
  return true;
}

Bytes echo_reply_bytes(const wire::IcmpMessage& request) {
  return {static_cast<std::uint32_t>(wire::icmp_header_bytes + request.body.size())};
}

//= rfc792#Echo
//# 792:ICMP4-1 identifier, sequence number and data are returned unchanged
//= rfc1122#3.2.2.6
//# 1122:H-33 all of the data
Bytes write_echo_reply(const wire::IcmpMessage& request, std::span<std::byte> into) {
  CHECK(request.type == wire::IcmpType::echo_request);
  return wire::write(reply_to(request), into);
}

bool may_send_error(const IpArrival& about) {
  wire::IpHeader const& header = about.packet.header;
  //= rfc1122#3.2.2
  //# 1122:H-7 no error about a broadcast or a fragment other than the first
  //# 1122:H-L8 nor about a link broadcast; ip_input() has refused other invalid sources
  if (about.to_group || header.fragment_offset != 0) {
    return false;
  }
  if (header.protocol != wire::IpProtocol::icmp) {
    return true;
  }
  //= rfc792#Introduction
  //# 792:ICMP4-8 nor about an ICMP message that is, or may be, an error
  if (about.packet.payload.empty()) {
    return false;
  }
  auto const type = static_cast<wire::IcmpType>(about.packet.payload.front());
  return type == wire::IcmpType::echo_request || type == wire::IcmpType::echo_reply;
}

Bytes error_bytes(const IpArrival& about) {
  return {static_cast<std::uint32_t>(wire::icmp_header_bytes + quote_of(about).size())};
}

//= rfc1122#3.2.2
//# 1122:H-27 quote the header and at least eight octets of data, unchanged
Bytes write_error(const IcmpErrorToSend& complaint, const IpArrival& about,
                  std::span<std::byte> into) {
  CHECK(may_send_error(about));
  //= rfc6633#3
  //# 6633:SQ-2 a host sends no source quench
  CHECK(complaint.type != wire::IcmpType::source_quench);
  return wire::write({complaint.type, complaint.code, complaint.rest, quote_of(about)}, into);
}

}  // namespace lockstep::internet
