// Parsing and writing of neighbour discovery messages.
#include "core/wire/neighbour_discovery.hpp"

#include "core/units/check.hpp"
#include "core/wire/octets.hpp"

namespace lockstep::wire {
namespace {

constexpr std::uint8_t option_source_link = 1;
constexpr std::uint8_t option_target_link = 2;
constexpr std::uint8_t option_prefix = 3;
constexpr std::uint8_t option_mtu = 5;

constexpr std::uint32_t router_bit = 0x8000'0000;
constexpr std::uint32_t solicited_bit = 0x4000'0000;
constexpr std::uint32_t override_bit = 0x2000'0000;
constexpr std::uint8_t on_link_bit = 0x80;

// The octets between the eight of the ICMPv6 header and the first option.
std::size_t fixed_bytes(Icmp6Type type) {
  switch (type) {
    case Icmp6Type::router_advertisement:
      return 8;
    case Icmp6Type::neighbour_solicitation:
    case Icmp6Type::neighbour_advertisement:
      return 16;
    case Icmp6Type::redirect:
      return 32;
    default:
      return 0;
  }
}

void read_option(std::span<const std::byte> option, NdMessage& out) {
  std::byte const* const at = option.data();
  std::uint8_t const kind = load8(at);
  bool const of_target =
      out.type == Icmp6Type::neighbour_advertisement || out.type == Icmp6Type::redirect;
  if (kind == (of_target ? option_target_link : option_source_link)) {
    out.has_link_address = true;
    out.link_address = load_mac(at + 2);
    return;
  }
  if (out.type != Icmp6Type::router_advertisement) {
    return;
  }
  if (kind == option_mtu) {
    out.mtu = load32(at + 4);
  } else if (kind == option_prefix && option.size() >= 32 &&
             out.prefix_count < NdMessage::prefixes_max && load8(at + 2) <= 128) {
    out.prefixes[out.prefix_count] = {load_ipv6(at + 16), load8(at + 2),
                                      (load8(at + 3) & on_link_bit) != 0, load32(at + 4)};
    ++out.prefix_count;
  }
}

//= rfc4861#7.1.1
//# 4861:ND-1 no option may have length zero
//# 4861:ND-5 unknown options are skipped
//= rfc4861#7.1.2
//# 4861:ND-3 nor in an advertisement
//= rfc4861#6.1.2
//# 4861:ND-36 nor in a router advertisement
Drop read_options(std::span<const std::byte> options, NdMessage& out) {
  while (!options.empty()) {
    if (options.size() < 8) {
      return Drop::nd_malformed;
    }
    std::size_t const length = load8(options.data() + 1) * std::size_t{8};
    if (length == 0 || length > options.size()) {
      return Drop::nd_malformed;
    }
    read_option(options.first(length), out);
    options = options.subspan(length);
  }
  return Drop::none;
}

}  // namespace

//= rfc4861#7.1.1
//# 4861:ND-1 code 0, at least 24 octets, target not multicast
//= rfc4861#7.1.2
//# 4861:ND-3 the same for an advertisement
//= rfc4861#6.1.2
//# 4861:ND-36 a router advertisement has code 0 and at least 16 octets
//= rfc4861#8.1
//# 4861:ND-43 a redirect has code 0 and at least 40 octets
Drop parse(const Icmp6Message& message, NdMessage& out) {
  CHECK(is_neighbour_discovery(message.type));
  std::size_t const fixed = fixed_bytes(message.type);
  if (message.code != 0 || message.body.size() < fixed) {
    return Drop::nd_malformed;
  }
  out = NdMessage{};
  out.type = message.type;
  std::byte const* const at = message.body.data();
  if (message.type == Icmp6Type::router_advertisement) {
    out.hop_limit = static_cast<std::uint8_t>(message.rest >> 24);
    out.lifetime_s = static_cast<std::uint16_t>(message.rest);
    out.reachable_ms = load32(at);
    out.retrans_ms = load32(at + 4);
  } else if (message.type != Icmp6Type::router_solicitation) {
    out.target = load_ipv6(at);
    if (out.target.is_multicast()) {
      return Drop::nd_malformed;
    }
  }
  if (message.type == Icmp6Type::neighbour_advertisement) {
    out.router = (message.rest & router_bit) != 0;
    out.solicited = (message.rest & solicited_bit) != 0;
    out.override = (message.rest & override_bit) != 0;
  }
  return read_options(message.body.subspan(fixed), out);
}

Bytes write(const Icmp6Path& path, const NdMessage& message, std::span<std::byte> into) {
  CHECK(into.size() >= nd_message_bytes_max);
  //= rfc4861#8.3
  //# 4861:ND-45 a host sends no redirect
  CHECK(message.type == Icmp6Type::neighbour_solicitation ||
        message.type == Icmp6Type::neighbour_advertisement ||
        message.type == Icmp6Type::router_solicitation);
  std::array<std::byte, nd_message_bytes_max - icmp6_header_bytes> body{};
  std::size_t length = fixed_bytes(message.type);
  if (length != 0) {
    store_ipv6(body.data(), message.target);
  }
  if (message.has_link_address) {
    bool const of_target = message.type == Icmp6Type::neighbour_advertisement;
    std::byte* const option = body.data() + length;
    store8(option, of_target ? option_target_link : option_source_link);
    store8(option + 1, 1);
    store_mac(option + 2, message.link_address);
    length += 8;
  }
  std::uint32_t const flags = (message.router ? router_bit : 0u) |
                              (message.solicited ? solicited_bit : 0u) |
                              (message.override ? override_bit : 0u);
  return write(path, Icmp6Message{message.type, 0, flags, std::span(body).first(length)}, into);
}

}  // namespace lockstep::wire
