// Repeats the headers for each segment, with its own lengths, IDs, flags and IPv4 checksum.
#include "hw/af_packet/segments.hpp"

#include <algorithm>
#include <cstring>

#include "core/units/check.hpp"
#include "core/wire/checksum.hpp"
#include "core/wire/ipv4.hpp"
#include "core/wire/ipv6.hpp"
#include "core/wire/octets.hpp"
#include "hw/ether_types.hpp"

namespace lockstep::hw {
namespace {

constexpr std::uint32_t tcp_bytes = 20;
constexpr std::uint8_t flag_fin = 0x01;
constexpr std::uint8_t flag_psh = 0x08;
constexpr std::uint8_t flag_cwr = 0x80;

}  // namespace

bool Segments::begin(std::span<const std::byte> frame, std::uint16_t segment_bytes) {
  *this = {};
  if (frame.size() < wire::ethernet_header_bytes + wire::vlan_tag_bytes + wire::ipv4_header_bytes ||
      segment_bytes == 0) {
    return false;
  }
  bool const tagged = wire::load16(&frame[12]) == type_tag;
  ip_at_ = wire::ethernet_header_bytes + (tagged ? wire::vlan_tag_bytes : 0);
  std::uint16_t const type = wire::load16(&frame[ip_at_ - 2]);
  auto const ip = frame.subspan(ip_at_);
  v4_ = type == type_ipv4;
  std::uint32_t ip_length = 0;
  bool tcp = false;
  if (v4_) {
    tcp_at_ = ip_at_ + (wire::load8(&ip[0]) & 0xfu) * 4u;
    ip_length = wire::load16(&ip[2]);
    tcp = wire::load8(&ip[9]) == static_cast<std::uint8_t>(wire::IpProtocol::tcp) &&
          tcp_at_ >= ip_at_ + wire::ipv4_header_bytes;
  } else if (type == type_ipv6 && ip.size() >= wire::ipv6_header_bytes) {
    tcp_at_ = ip_at_ + wire::ipv6_header_bytes;
    ip_length = wire::ipv6_header_bytes + wire::load16(&ip[4]);
    tcp = wire::load8(&ip[6]) == static_cast<std::uint8_t>(wire::IpProtocol::tcp);
  }
  if (!tcp || ip_length > ip.size() || ip_at_ + ip_length < tcp_at_ + tcp_bytes) {
    return false;
  }
  frame_ = frame.first(ip_at_ + ip_length);
  payload_at_ = tcp_at_ + (wire::load8(&frame[tcp_at_ + 12]) >> 4) * 4u;
  segment_bytes_ = segment_bytes;
  return payload_at_ >= tcp_at_ + tcp_bytes && payload_at_ < frame_.size();
}

std::uint32_t Segments::next(std::span<std::byte> into) {
  auto const left = static_cast<std::uint32_t>(frame_.size()) - payload_at_ - done_;
  std::uint32_t const payload = std::min(left, segment_bytes_);
  if (payload == 0) {
    return 0;
  }
  std::uint32_t const length = payload_at_ + payload;
  CHECK(into.size() >= length);
  std::memcpy(into.data(), frame_.data(), payload_at_);
  std::memcpy(&into[payload_at_], &frame_[payload_at_ + done_], payload);
  std::byte* const ip = &into[ip_at_];
  if (v4_) {
    wire::store16(ip + 2, static_cast<std::uint16_t>(length - ip_at_));
    wire::store16(ip + 4, static_cast<std::uint16_t>(wire::load16(ip + 4) + index_));
    wire::store16(ip + 10, 0);
    wire::store16(ip + 10, wire::sum(into.subspan(ip_at_, tcp_at_ - ip_at_)).checksum());
  } else {
    wire::store16(ip + 4, static_cast<std::uint16_t>(length - tcp_at_));
  }
  std::byte* const tcp = &into[tcp_at_];
  wire::store32(tcp + 4, wire::load32(tcp + 4) + done_);
  std::uint8_t flags = wire::load8(tcp + 13);
  if (payload < left) {
    flags = static_cast<std::uint8_t>(flags & ~(flag_fin | flag_psh));
  }
  if (index_ != 0) {  // CWR is set only on the first segment
    flags = static_cast<std::uint8_t>(flags & ~flag_cwr);
  }
  wire::store8(tcp + 13, flags);
  done_ += payload;
  ++index_;
  return length;
}

}  // namespace lockstep::hw
