// Builds IP packets octet by octet: a peer may send packets that the core never would.
#include "conformance/replay/packet.hpp"

#include <algorithm>
#include <span>

#include "tools/base/capture/octets.hpp"

namespace lockstep::conformance {
namespace {

using tools::put_long;
using tools::put_octet;
using tools::put_word;

void put_v4(std::vector<std::byte>& out, const IpAddress& from, const IpAddress& to,
            std::uint32_t protocol, std::size_t payload, std::uint8_t traffic_class) {
  put_octet(out, 0x45);
  put_octet(out, traffic_class);
  put_word(out, static_cast<std::uint32_t>(20 + payload));
  put_word(out, 0);
  put_word(out, 0x4000);
  put_octet(out, 64);
  put_octet(out, protocol);
  put_word(out, 0);
  put_long(out, from.as_v4().value);
  put_long(out, to.as_v4().value);
  std::uint16_t const sum = tools::ones_fold(tools::ones_sum(std::span(out).first(20)));
  tools::set_word(out, 10, static_cast<std::uint16_t>(~sum));
}

void put_address(std::vector<std::byte>& out, const IpAddress& address) {
  for (std::uint64_t const half : {address.high, address.low}) {
    put_long(out, static_cast<std::uint32_t>(half >> 32));
    put_long(out, static_cast<std::uint32_t>(half));
  }
}

void put_v6(std::vector<std::byte>& out, const IpAddress& from, const IpAddress& to,
            std::uint32_t protocol, std::size_t payload, std::uint8_t traffic_class) {
  put_long(out, 6u << 28 | std::uint32_t{traffic_class} << 20);
  put_word(out, static_cast<std::uint32_t>(payload));
  put_octet(out, protocol);
  put_octet(out, 64);
  put_address(out, from);
  put_address(out, to);
}

void put_header(std::vector<std::byte>& out, const IpAddress& from, const IpAddress& to,
                std::uint32_t protocol, std::size_t payload, std::uint8_t traffic_class) {
  (from.is_v4() ? put_v4 : put_v6)(out, from, to, protocol, payload, traffic_class);
}

std::size_t header_bytes(const IpAddress& from) { return from.is_v4() ? 20 : 40; }

/// Sum of the addresses at the end of the IP header, the protocol and the length.
std::uint32_t pseudo_sum(std::span<const std::byte> packet, std::size_t header,
                         std::size_t transport, std::uint32_t protocol = 6) {
  std::size_t const from = header == 20 ? 12 : 8;
  return tools::ones_sum(packet.subspan(from, header - from),
                         static_cast<std::uint32_t>(protocol + transport));
}

/// Writes the ports and sequence number of the quoted TCP header, which begins at `at`.
void quote_tcp(std::span<std::byte> icmp, std::size_t at, Port source, Port destination,
               std::uint32_t sequence) {
  tools::set_word(icmp, at, source.value);
  tools::set_word(icmp, at + 2, destination.value);
  tools::set_word(icmp, at + 4, static_cast<std::uint16_t>(sequence >> 16));
  tools::set_word(icmp, at + 6, static_cast<std::uint16_t>(sequence));
}

std::vector<std::byte> packet_of_icmpv6(const tools::IcmpError& error, const Endpoint& source,
                                        const Endpoint& destination, std::uint32_t sequence) {
  constexpr std::size_t header = 40;
  std::vector<std::byte> out;
  put_header(out, error.sender, source.address, 58, error.message.size(), 0);
  out.insert(out.end(), error.message.begin(), error.message.end());
  std::span<std::byte> const icmp = std::span(out).subspan(header);
  std::vector<std::byte> pair;
  put_address(pair, source.address);
  put_address(pair, destination.address);
  std::copy(pair.begin(), pair.end(), icmp.begin() + 8 + 8);
  quote_tcp(icmp, 8 + header, source.port, destination.port, sequence);
  tools::set_word(icmp, 2, 0);
  std::uint32_t const sum = tools::ones_sum(icmp, pseudo_sum(out, header, icmp.size(), 58));
  tools::set_word(icmp, 2, static_cast<std::uint16_t>(~tools::ones_fold(sum)));
  return out;
}

}  // namespace

std::vector<std::byte> packet_of(const tools::Segment& segment) {
  std::size_t const before = header_bytes(segment.source.address);
  std::size_t const header = 20 + segment.options.size();
  std::size_t const transport = header + segment.payload.size();
  std::vector<std::byte> out;
  out.reserve(before + transport);
  put_header(out, segment.source.address, segment.destination.address, 6, transport,
             segment.traffic_class);
  put_word(out, segment.source.port.value);
  put_word(out, segment.destination.port.value);
  put_long(out, segment.sequence);
  put_long(out, segment.acknowledgment);
  put_octet(out, static_cast<std::uint32_t>(header / 4) << 4 | segment.reserved);
  put_octet(out, segment.flags);
  put_word(out, segment.window);
  put_word(out, 0);
  put_word(out, segment.urgent);
  out.insert(out.end(), segment.options.begin(), segment.options.end());
  out.insert(out.end(), segment.payload.begin(), segment.payload.end());
  std::uint32_t const sum =
      tools::ones_sum(std::span(out).subspan(before), pseudo_sum(out, before, transport));
  auto checksum = static_cast<std::uint16_t>(~tools::ones_fold(sum));
  if (segment.sum == tools::SumState::bad) {
    checksum = static_cast<std::uint16_t>(checksum ^ 0x5555);
  }
  tools::set_word(out, before + 16, checksum);
  return out;
}

std::vector<std::byte> packet_of(const tools::IcmpError& error, const Endpoint& source,
                                 const Endpoint& destination, std::uint32_t sequence) {
  constexpr std::size_t head = 8, ports_and_number = 8;
  bool const six = !source.address.is_v4();
  std::size_t const size = error.message.size();
  if (size < head + (six ? 40 : 20) + ports_and_number) {
    return {};
  }
  if (six) {
    return packet_of_icmpv6(error, source, destination, sequence);
  }
  std::size_t const quoted =
      head + static_cast<std::size_t>(tools::octet_at(error.message, head) & 0x0f) * 4;
  if (quoted + ports_and_number > size) {
    return {};
  }
  std::vector<std::byte> out;
  put_header(out, error.sender, source.address, 1, error.message.size(), 0);
  out.insert(out.end(), error.message.begin(), error.message.end());
  std::span<std::byte> const icmp = std::span(out).subspan(20);
  std::vector<std::byte> words;
  put_long(words, source.address.as_v4().value);
  put_long(words, destination.address.as_v4().value);
  std::copy(words.begin(), words.end(), icmp.begin() + 8 + 12);
  quote_tcp(icmp, quoted, source.port, destination.port, sequence);
  tools::set_word(icmp, 2, 0);
  tools::set_word(icmp, 2, static_cast<std::uint16_t>(~tools::ones_fold(tools::ones_sum(icmp))));
  return out;
}

}  // namespace lockstep::conformance
