// IPv4 packets of a script on the wire, made and read apart from the core's own reader.
#include "conformance/script/segment.hpp"

#include <fmt/core.h>

#include <array>
#include <string_view>

namespace lockstep::script {
namespace {

using Octets = std::vector<std::byte>;
using Kind = Option::Kind;

// The letters of the flags, from the lowest bit of the header's field on; A is its ninth.
constexpr std::string_view letters = "FSRP.UEWA";
constexpr std::uint16_t experiment = 0xf989;  // RFC 7413's before it had a number

void put(Octets& out, std::uint64_t value, std::uint32_t octets) {
  for (std::uint32_t i = octets; i-- != 0;) {
    out.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
}

std::uint32_t get(std::span<const std::byte> from, std::size_t at, std::size_t octets) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < octets; ++i) {
    value = value << 8 | std::to_integer<std::uint32_t>(from[at + i]);
  }
  return value;
}

std::uint32_t sum_of(std::span<const std::byte> octets) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < octets.size(); ++i) {
    sum += std::to_integer<std::uint64_t>(octets[i]) << (i % 2 == 0 ? 8 : 0);
  }
  while (sum >> 16 != 0) {
    sum = (sum & 0xffff) + (sum >> 16);
  }
  return static_cast<std::uint32_t>(sum);
}

std::uint16_t folded(std::uint32_t sum) {
  while (sum >> 16 != 0) {
    sum = (sum & 0xffff) + (sum >> 16);
  }
  return static_cast<std::uint16_t>(sum);
}

std::uint32_t pseudo_sum(const Segment& segment, std::size_t length) {
  std::uint32_t const source = segment.source.address.as_v4().value;
  std::uint32_t const destination = segment.destination.address.as_v4().value;
  return (source >> 16) + (source & 0xffff) + (destination >> 16) + (destination & 0xffff) + 6 +
         static_cast<std::uint32_t>(length);
}

void put_option(Octets& out, const Option& option) {
  auto const head = [&](std::uint32_t kind, std::size_t length) {
    put(out, kind, 1);
    put(out, length, 1);
  };
  switch (option.kind) {
    case Kind::end:
      return put(out, 0, 1);
    case Kind::nop:
      return put(out, 1, 1);
    case Kind::mss:
      head(2, 4);
      return put(out, option.numbers[0], 2);
    case Kind::window_scale:
      head(3, 3);
      return put(out, option.numbers[0], 1);
    case Kind::sack_permitted:
      return head(4, 2);
    case Kind::sack:
    case Kind::timestamps:
      head(option.kind == Kind::sack ? 5 : 8, 2 + 4 * option.numbers.size());
      for (std::uint32_t const number : option.numbers) {
        put(out, number, 4);
      }
      return;
    case Kind::fast_open:
      head(34, 2 + option.octets.size());
      break;
    case Kind::fast_open_old:
      head(254, 4 + option.octets.size());
      put(out, experiment, 2);
      break;
  }
  for (std::uint8_t const octet : option.octets) {
    put(out, octet, 1);
  }
}

std::uint32_t bits_of(const std::string& flags) {
  std::uint32_t bits = 0;
  for (char const flag : flags) {
    bits |= 1u << letters.find(flag);
  }
  return bits;
}

// One option of `body`, which is without kind and length. False: of no known kind or length.
bool read_option(std::uint32_t kind, std::span<const std::byte> body, Option& out) {
  auto const numbers = [&](Kind as, std::size_t each) {
    out.kind = as;
    for (std::size_t i = 0; i + each <= body.size(); i += each) {
      out.numbers.push_back(get(body, i, each));
    }
    return true;
  };
  auto const cookie = [&](Kind as, std::size_t from) {
    out.kind = as;
    for (std::byte const octet : body.subspan(from)) {
      out.octets.push_back(std::to_integer<std::uint8_t>(octet));
    }
    return true;
  };
  switch (kind) {
    case 2:
      return body.size() == 2 && numbers(Kind::mss, 2);
    case 3:
      return body.size() == 1 && numbers(Kind::window_scale, 1);
    case 4:
      out.kind = Kind::sack_permitted;
      return body.empty();
    case 5:
      return body.size() % 8 == 0 && numbers(Kind::sack, 4);
    case 8:
      return body.size() == 8 && numbers(Kind::timestamps, 4);
    case 34:
      return cookie(Kind::fast_open, 0);
    case 254:
      return body.size() >= 2 && get(body, 0, 2) == experiment && cookie(Kind::fast_open_old, 2);
    default:
      return false;
  }
}

std::string read_options(std::span<const std::byte> octets, std::vector<Option>& out) {
  for (std::size_t at = 0; at < octets.size();) {
    std::uint32_t const kind = get(octets, at, 1);
    Option option;
    if (kind <= 1) {
      option.kind = kind == 0 ? Kind::end : Kind::nop;
      ++at;
    } else {
      std::size_t const length = at + 1 < octets.size() ? get(octets, at + 1, 1) : 0;
      if (length < 2 || at + length > octets.size() ||
          !read_option(kind, octets.subspan(at + 2, length - 2), option)) {
        return fmt::format("a TCP option of kind {} and length {}", kind, length);
      }
      at += length;
    }
    out.push_back(option);
  }
  return "";
}

}  // namespace

std::vector<std::byte> encode(const Segment& segment) {
  TcpPacket const& tcp = segment.tcp;
  Octets options;
  for (Option const& option : tcp.options) {
    put_option(options, option);
  }
  options.resize((options.size() + 3) / 4 * 4);
  Octets out;
  put(out, 0x45, 1);
  put(out, segment.ecn == Ecn::ect0 ? 2 : segment.ecn == Ecn::ect1 ? 1
           : segment.ecn == Ecn::ce ? 3 : 0, 1);
  put(out, 40 + options.size() + tcp.text.length, 2);
  put(out, 0, 4);
  put(out, 0xff06, 2);
  put(out, 0, 2);
  put(out, segment.source.address.as_v4().value, 4);
  put(out, segment.destination.address.as_v4().value, 4);
  put(out, segment.source.port.value, 2);
  put(out, segment.destination.port.value, 2);
  put(out, tcp.text.first, 4);
  put(out, tcp.ack.value_or(0), 4);
  put(out, (5 + options.size() / 4) << 12 | bits_of(tcp.flags), 2);
  put(out, tcp.window.value_or(0), 2);
  put(out, 0, 2);
  put(out, tcp.urgent.value_or(0), 2);
  out.insert(out.end(), options.begin(), options.end());
  out.resize(out.size() + tcp.text.length);
  std::span<const std::byte> const all(out);
  auto const write_sum = [&](std::size_t at, std::uint32_t sum) {
    std::uint16_t const check = static_cast<std::uint16_t>(~folded(sum));
    out[at] = static_cast<std::byte>(check >> 8);
    out[at + 1] = static_cast<std::byte>(check);
  };
  write_sum(10, sum_of(all.first(20)));
  write_sum(36, sum_of(all.subspan(20)) + pseudo_sum(segment, out.size() - 20));
  return out;
}

std::string decode(std::span<const std::byte> octets, Segment& out) {
  if (octets.size() < 40 || get(octets, 0, 1) != 0x45 || get(octets, 2, 2) != octets.size() ||
      get(octets, 9, 1) != 6) {
    return "no TCP packet of IPv4 without options";
  }
  constexpr Ecn marks[] = {Ecn::none, Ecn::ect1, Ecn::ect0, Ecn::ce};
  out.ecn = marks[get(octets, 1, 1) & 3];
  out.source = {IpAddress::from(Ipv4{get(octets, 12, 4)}),
                {static_cast<std::uint16_t>(get(octets, 20, 2))}};
  out.destination = {IpAddress::from(Ipv4{get(octets, 16, 4)}),
                     {static_cast<std::uint16_t>(get(octets, 22, 2))}};
  std::size_t const header = std::size_t{get(octets, 32, 1) >> 4} * 4;
  if (header < 20 || 20 + header > octets.size()) {
    return "a TCP header beyond the packet";
  }
  bool const sums = folded(sum_of(octets.first(20))) == 0xffff &&
                    folded(sum_of(octets.subspan(20)) + pseudo_sum(out, octets.size() - 20)) ==
                        0xffff;
  if (!sums) {
    return "a wrong checksum";
  }
  TcpPacket& tcp = out.tcp;
  std::uint32_t const bits = get(octets, 32, 2) & 0x1ff;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    if ((bits >> i & 1) != 0) {
      tcp.flags += letters[i];
    }
  }
  tcp.text.first = get(octets, 24, 4);
  tcp.text.length = static_cast<std::uint32_t>(octets.size() - 20 - header);
  tcp.text.end = tcp.text.first + tcp.text.length;
  tcp.ack = get(octets, 28, 4);
  tcp.window = get(octets, 34, 2);
  tcp.urgent = get(octets, 38, 2);
  return read_options(octets.subspan(40, header - 20), tcp.options);
}

}  // namespace lockstep::script
