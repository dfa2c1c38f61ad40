// Finds the TCP segment of a frame and computes its checksum.
#include "tools/lib/journal/mend_checksum.hpp"

#include "core/wire/checksum.hpp"
#include "tools/base/capture/octets.hpp"

namespace lockstep::journal {
namespace {

constexpr std::size_t ethernet_bytes = 14;
constexpr std::size_t checksum_at = 16;
constexpr std::size_t least_segment = 20;
constexpr std::uint8_t tcp = 6;

IpAddress address_at(std::span<const std::byte> packet, std::size_t at, bool v4) {
  return v4 ? IpAddress::from(Ipv4{tools::long_at(packet, at)})
            : IpAddress{tools::wide_at(packet, at), tools::wide_at(packet, at + 8)};
}

void mend_segment(std::span<std::byte> segment, wire::PseudoHeader pseudo) {
  pseudo.protocol = tcp;
  pseudo.length = Bytes{static_cast<std::uint32_t>(segment.size())};
  auto const whole = [&] {
    return wire::combine(wire::pseudo_header_sum(pseudo), wire::sum(segment));
  };
  if (segment.size() < least_segment || whole().verifies()) {
    return;
  }
  tools::set_word(segment, checksum_at, 0);
  tools::set_word(segment, checksum_at, whole().checksum());
}

}  // namespace

void mend_checksum(std::span<std::byte> frame, LinkType link) {
  std::size_t const skip = link == LinkType::ethernet ? ethernet_bytes : 0;
  if (frame.size() < skip + 40) {
    return;
  }
  auto const packet = frame.subspan(skip);
  std::uint8_t const first = tools::octet_at(packet, 0);
  bool const v4 = first >> 4 == 4;
  std::size_t const header = v4 ? (first & 15u) * 4u : 40u;
  std::size_t const length = v4 ? tools::word_at(packet, 2) : 40u + tools::word_at(packet, 4);
  std::uint8_t const protocol = tools::octet_at(packet, v4 ? 9 : 6);
  if ((!v4 && first >> 4 != 6) || protocol != tcp || length > packet.size() || length < header) {
    return;
  }
  mend_segment(packet.subspan(header, length - header),
               {address_at(packet, v4 ? 12 : 8, v4), address_at(packet, v4 ? 16 : 24, v4), 0, {}});
}

}  // namespace lockstep::journal
