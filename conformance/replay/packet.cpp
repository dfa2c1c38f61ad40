// Builds IPv4 packets octet by octet: what a peer sends need not be what the core would write.
#include "conformance/replay/packet.hpp"

#include <algorithm>
#include <span>

#include "tools/capture/octets.hpp"

namespace lockstep::conformance {
namespace {

using tools::put_long;
using tools::put_octet;
using tools::put_word;

void put_header(std::vector<std::byte>& out, const IpAddress& from, const IpAddress& to,
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

std::uint32_t pseudo_sum(std::span<const std::byte> packet, std::size_t transport) {
  return tools::ones_sum(packet.subspan(12, 8), static_cast<std::uint32_t>(6 + transport));
}

}  // namespace

std::vector<std::byte> packet_of(const tools::Segment& segment) {
  std::size_t const header = 20 + segment.options.size();
  std::size_t const transport = header + segment.payload.size();
  std::vector<std::byte> out;
  out.reserve(20 + transport);
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
  std::uint32_t const sum = tools::ones_sum(std::span(out).subspan(20), pseudo_sum(out, transport));
  auto checksum = static_cast<std::uint16_t>(~tools::ones_fold(sum));
  if (segment.sum == tools::SumState::bad) {
    checksum = static_cast<std::uint16_t>(checksum ^ 0x5555);
  }
  tools::set_word(out, 36, checksum);
  return out;
}

std::vector<std::byte> packet_of(const tools::IcmpError& error, const Endpoint& source,
                                 const Endpoint& destination, std::uint32_t sequence) {
  std::vector<std::byte> out;
  put_header(out, error.sender, source.address, 1, error.message.size(), 0);
  out.insert(out.end(), error.message.begin(), error.message.end());
  std::span<std::byte> const icmp = std::span(out).subspan(20);
  std::size_t const quoted = 8 + static_cast<std::size_t>(tools::octet_at(icmp, 8) & 0x0f) * 4;
  std::vector<std::byte> words;
  put_long(words, source.address.as_v4().value);
  put_long(words, destination.address.as_v4().value);
  std::copy(words.begin(), words.end(), icmp.begin() + 8 + 12);
  words.clear();
  put_word(words, source.port.value);
  put_word(words, destination.port.value);
  put_long(words, sequence);
  std::copy(words.begin(), words.end(), icmp.begin() + static_cast<std::ptrdiff_t>(quoted));
  tools::set_word(icmp, 2, 0);
  tools::set_word(icmp, 2, static_cast<std::uint16_t>(~tools::ones_fold(tools::ones_sum(icmp))));
  return out;
}

}  // namespace lockstep::conformance
