// Builds the octets of a script's packets, and reads the stack's packets in the script's numbers.
#include "conformance/script/packet.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/wire/checksum.hpp"
#include "core/wire/icmp.hpp"
#include "core/wire/icmpv6.hpp"
#include "core/wire/ipv4.hpp"
#include "core/wire/ipv6.hpp"
#include "core/wire/tcp.hpp"
#include "tools/base/capture/octets.hpp"

namespace lockstep::conformance::script {
namespace {

using tools::put_long;
using tools::put_octet;
using tools::put_word;
using Octets = std::vector<std::byte>;

constexpr std::uint8_t ttl_in = 255;

void set_option_word(Option& option, std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) {
    option.data[at + i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
  }
}

/// Converts the timestamp echo and the SACK blocks from the script's numbers to those on the wire.
Option to_live(Option option, const Flow& flow) {
  if (is_stamp(option)) {
    set_option_word(option, 4, flow.stamp_to_live(option_word(option, 4)));
  }
  for (std::size_t at = 0; option.kind == 5 && at + 4 <= option.data.size(); at += 4) {
    set_option_word(option, at, flow.to_live(option_word(option, at)));
  }
  return option;
}

Octets option_octets(const TcpPacket& tcp, const Flow& flow) {
  Octets out;
  for (Option const& script : tcp.options) {
    Option const option = to_live(script, flow);
    put_octet(out, option.kind);
    if (option.length) {
      put_octet(out, *option.length);
    }
    for (std::uint8_t const octet : option.data) {
      put_octet(out, octet);
    }
  }
  while (out.size() % 4 != 0) {
    put_octet(out, 0);
  }
  return out;
}

/// The payload octet at a position of the stream.
std::uint8_t payload_octet(std::uint32_t sequence) {
  return static_cast<std::uint8_t>(sequence * 2'654'435'761u >> 24);
}

std::uint16_t checksum_of(const Octets& bytes, const wire::PseudoHeader& pseudo) {
  return combine(wire::pseudo_header_sum(pseudo), wire::sum(bytes)).checksum();
}

Octets build_tcp(const Packet& packet, const Flow& flow) {
  TcpPacket const& tcp = packet.tcp;
  Octets const options = option_octets(tcp, flow);
  Octets out;
  put_word(out, flow.remote.port.value);
  put_word(out, flow.local.port.value);
  bool const opens = (tcp.flags & 2) != 0;
  put_long(out, opens ? tcp.sequence.begin : flow.peer_to_live(tcp.sequence.begin));
  bool const acks = tcp.ack || (tcp.flags & 0x10) != 0;
  put_long(out, acks ? flow.to_live(tcp.ack.value_or(0)) : 0);
  put_octet(out, static_cast<std::uint32_t>((20 + options.size()) / 4 << 4) | tcp.flags >> 8);
  put_octet(out, tcp.flags & 0xffu);
  put_word(out, tcp.window.value_or(0));
  put_word(out, 0);
  put_word(out, tcp.urgent.value_or(0));
  out.insert(out.end(), options.begin(), options.end());
  for (std::uint32_t i = 0; i < tcp.sequence.length; ++i) {
    put_octet(out, payload_octet(tcp.sequence.begin + i));
  }
  wire::PseudoHeader const pseudo{flow.remote.address, flow.local.address, 6,
                                  Bytes{static_cast<std::uint32_t>(out.size())}};
  std::uint16_t const sum = checksum_of(out, pseudo);
  tools::set_word(out, 16, static_cast<std::uint16_t>(tcp.bad_checksum ? sum ^ 0x5555 : sum));
  return out;
}

/// The packet of ours that an ICMP error quotes: its IP header, and the part of TCP that the script
/// asks for.
Octets quoted_packet(const Packet& packet, const Flow& flow) {
  IcmpPacket const& icmp = packet.icmp;
  bool const v6 = !flow.local.address.is_v4();
  std::uint32_t const length = icmp.quoted ? icmp.quoted->length : 0;
  Octets out(v6 ? wire::ipv6_header_bytes : wire::ipv4_header_bytes);
  if (v6) {
    wire::Ipv6Header const header{flow.local.address, flow.remote.address, 6, 64, 0, 0};
    wire::write(header, Bytes{20 + length}, out);
  } else {
    wire::Ipv4Header header;
    header.source = flow.local.address;
    header.destination = flow.remote.address;
    header.protocol = wire::IpProtocol::tcp;
    header.time_to_live = 64;
    header.dont_fragment = true;
    wire::write(header, Bytes{20 + length}, out);
  }
  put_word(out, flow.local.port.value);
  put_word(out, flow.remote.port.value);
  put_long(out, icmp.quoted ? flow.to_live(icmp.quoted->begin) : flow.last_sent);
  put_long(out, 0);
  put_long(out, 0x5010'0000);
  put_long(out, 0);
  return out;
}

bool is_echo(std::uint8_t type) { return type == 0 || type == 8; }
bool is_echo6(std::uint8_t type) { return type == 128 || type == 129; }

/// After the checksum, an echo has an identifier, and other messages may have an MTU.
void take_rest(IcmpPacket& icmp, std::uint32_t mtu, bool echo, std::uint32_t rest) {
  icmp.mtu = echo ? 0 : mtu;
  if (echo) {
    icmp.id = static_cast<std::uint16_t>(rest >> 16);
  }
}

Octets build_icmp(const Packet& packet, const Flow& flow) {
  IcmpPacket const& icmp = packet.icmp;
  std::uint32_t const rest = icmp.id ? std::uint32_t{*icmp.id} << 16 : icmp.mtu;
  Octets const body = quoted_packet(packet, flow);
  Octets out(wire::icmp_header_bytes + body.size());
  if (flow.local.address.is_v4()) {
    wire::write({static_cast<wire::IcmpType>(icmp.type), icmp.code, rest, body}, out);
  } else {
    wire::write({flow.remote.address, flow.local.address},
                {static_cast<wire::Icmp6Type>(icmp.type), icmp.code, rest, body}, out);
  }
  return out;
}

bool read_options(std::span<const std::byte> bytes, std::vector<Option>& out) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    Option option;
    option.kind = tools::octet_at(bytes, at++);
    if (option.kind > 1) {
      if (at == bytes.size()) {
        return false;
      }
      std::uint8_t const length = tools::octet_at(bytes, at++);
      if (length < 2 || at + length - 2 > bytes.size()) {
        return false;
      }
      option.length = length;
      for (int i = 2; i < length; ++i) {
        option.data.push_back(tools::octet_at(bytes, at++));
      }
    }
    out.push_back(option);
  }
  return true;
}

void read_tcp(std::span<const std::byte> bytes, Live& out) {
  wire::PseudoHeader const pseudo{out.source.address, out.destination.address, 6,
                                  Bytes{static_cast<std::uint32_t>(bytes.size())}};
  wire::Segment segment;
  if (wire::parse(bytes, segment) != Drop::none) {
    out.complaint = "no TCP header";
    return;
  }
  if (!wire::checksum_verifies(pseudo, bytes)) {
    out.complaint = "a wrong TCP checksum";
    return;
  }
  out.source.port = segment.source;
  out.destination.port = segment.destination;
  out.sequence = segment.sequence.value;
  out.ack = segment.acknowledgment.value;
  std::uint32_t const accurate = tools::octet_at(bytes, 12) & 1u;  // AE is next to the data offset
  out.flags = static_cast<std::uint16_t>(accurate << 8 | segment.flags.bits);
  out.window = segment.window.value;
  out.urgent = segment.urgent;
  out.length = static_cast<std::uint32_t>(segment.payload.size());
  std::size_t const header = bytes.size() - segment.payload.size();
  out.readable = read_options(bytes.subspan(20, header - 20), out.options);
  out.complaint = out.readable ? "" : "malformed TCP options";
}

/// The sequence range of a quoted packet; a truncated TCP header counts as 20 octets.
SequenceRange quoted_range(std::span<const std::byte> body, const wire::IcmpQuote& quote) {
  std::uint32_t const first = tools::octet_at(body, 0);
  std::uint32_t const ip = first >> 4 == 6 ? wire::ipv6_header_bytes : (first & 15) * 4;
  std::size_t const offset_at = ip + 12;
  std::uint32_t const tcp =
      offset_at < body.size() ? tools::octet_at(body, offset_at) / 16u * 4u : 20;
  std::uint32_t const headers = ip + tcp;
  std::uint32_t const packet = quote.packet_bytes.count;
  return {quote.sequence.value, packet > headers ? packet - headers : 0};
}

void read_icmp(std::span<const std::byte> bytes, Live& out) {
  out.is_icmp = true;
  wire::IcmpQuote quote;
  std::span<const std::byte> body;
  bool quoted = false;
  if (out.source.address.is_v4()) {
    wire::IcmpMessage message;
    out.readable = wire::parse(bytes, message) == Drop::none;
    out.icmp.type = static_cast<std::uint8_t>(message.type);
    out.icmp.code = message.code;
    take_rest(out.icmp, message.next_hop_mtu(), is_echo(out.icmp.type), message.rest);
    body = message.body;
    quoted = out.readable && wire::parse(body, quote) == Drop::none;
  } else {
    wire::Icmp6Message message;
    out.readable =
        wire::parse({out.source.address, out.destination.address}, bytes, message) == Drop::none;
    out.icmp.type = static_cast<std::uint8_t>(message.type);
    out.icmp.code = message.code;
    take_rest(out.icmp, message.rest, is_echo6(out.icmp.type), message.rest);
    body = message.body;
    quoted = out.readable && wire::parse_quote6(body, quote) == Drop::none;
  }
  if (quoted) {
    out.icmp.quoted = quoted_range(body, quote);
  }
  out.complaint = out.readable ? "" : "a malformed ICMP message";
}

std::string ip_text(const IpFields& ip, bool bad_checksum) {
  constexpr std::string_view names[] = {"noecn", "ect1", "ect0", "ce", "ect01"};
  std::string out;
  const auto add = [&out](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  if (ip.ecn) {
    add(std::string(names[*ip.ecn]));
  }
  if (ip.tos) {
    add(fmt::format("tos {:#x}", *ip.tos));
  }
  if (ip.dscp) {
    add(fmt::format("dscp {}", *ip.dscp));
  }
  if (ip.ttl) {
    add(fmt::format("ttl {}", *ip.ttl));
  }
  if (ip.flow_label) {
    add(fmt::format("flowlabel {:#x}", *ip.flow_label));
  }
  if (bad_checksum) {
    add("checksum bad");
  }
  return out.empty() ? "" : "[" + out + "] ";
}

std::string icmp_text(const IcmpPacket& icmp) {
  std::string out = fmt::format("icmp {} {}", icmp.type, icmp.code);
  out += icmp.mtu != 0 ? fmt::format(" mtu {}", icmp.mtu) : "";
  out += icmp.id ? fmt::format(" id {}", *icmp.id) : "";
  if (icmp.quoted) {
    out += fmt::format(" [{}:...]", icmp.quoted->begin);
  }
  return out;
}

/// An option of any kind in raw form.
std::string raw_text(const Option& option) {
  std::string out = fmt::format("kind {}", option.kind);
  out += option.length ? fmt::format(" len {}", *option.length) : "";
  for (std::size_t i = 0; i < option.data.size(); ++i) {
    out += fmt::format("{}{:02x}", i == 0 ? " hex " : "", option.data[i]);
  }
  return out;
}

/// Whether its length is right for its kind and matches the length octet.
bool is_whole(const Option& option) {
  std::size_t const size = option.data.size();
  if (option.kind < 2) {
    return true;
  }
  if (!option.length || *option.length != size + 2) {
    return false;
  }
  switch (option.kind) {
    case 2:
      return size == 2;
    case 3:
      return size == 1;
    case 4:
      return size == 0;
    case 5:
      return size != 0 && size % 8 == 0;
    case 8:
      return size == 8;
    case 19:
      return size == 16;
    case 28:
      return size == 2;
    case 29:
      return size > 2;
    case 30:
      return size != 0;
    case 172:
    case 174:
      return size == 3 || size == 6 || size == 9;
    default:
      return true;
  }
}

std::string option_text(const Option& option) {
  if (!is_whole(option)) {
    return raw_text(option);
  }
  switch (option.kind) {
    case 0:
      return "eol";
    case 1:
      return "nop";
    case 2:
      return fmt::format("mss {}", option_word(option, 0) >> 16);
    case 3:
      return fmt::format("wscale {}", option_word(option, 0) >> 24);
    case 4:
      return "sackOK";
    case 8:
      return fmt::format("TS val {} ecr {}",
                         option.any_value ? "..." : fmt::format("{}", option_word(option, 0)),
                         option.any_echo ? "..." : fmt::format("{}", option_word(option, 4)));
    default:
      break;
  }
  std::string out;
  if (option.kind == 5) {
    for (std::size_t at = 0; at + 8 <= option.data.size(); at += 8) {
      out += fmt::format(" {}:{}", option_word(option, at), option_word(option, at + 4));
    }
    return "sack" + out;
  }
  if (option.kind == 28) {
    return fmt::format("uto {}", option_word(option, 0) >> 16);
  }
  if (option.kind == 172 || option.kind == 174) {
    constexpr std::string_view names[] = {"e0b", "ceb", "e1b"};
    for (std::size_t i = 0; i < option.data.size() / 3; ++i) {
      std::string_view const name = names[option.kind == 172 ? i : 2 - i];
      out += fmt::format(" {} {}", name, option_word(option, i * 3) >> 8);
    }
    return "ECN" + out;
  }
  std::string name = option.kind == 34   ? "FO"
                     : option.kind == 19 ? "md5"
                     : option.kind == 29 ? "ao"
                     : option.kind == 30 ? "mptcp"
                                         : "";
  if (name.empty()) {
    return raw_text(option);
  }
  std::size_t const ids = option.kind == 29 ? 2 : 0;
  for (std::size_t i = 0; i < option.data.size(); ++i) {
    (i < ids ? name : out) += fmt::format(fmt::runtime(i < ids ? " {}" : "{:02x}"), option.data[i]);
  }
  return out.empty() ? name : name + " " + out;
}

}  // namespace

std::vector<std::byte> build(const Packet& packet, const Flow& flow) {
  Octets const body = packet.is_icmp ? build_icmp(packet, flow) : build_tcp(packet, flow);
  Bytes const length{static_cast<std::uint32_t>(body.size())};
  bool const v6 = !flow.local.address.is_v4();
  IpFields const& ip = packet.ip;
  std::uint8_t const tos =
      static_cast<std::uint8_t>((ip.tos.value_or(0) & 0xfc) | ip.dscp.value_or(0) << 2 |
                                ip.ecn.value_or(ip.tos.value_or(0) & 3));
  Octets out(v6 ? wire::ipv6_header_bytes : wire::ipv4_header_bytes);
  if (v6) {
    std::uint8_t const next = packet.is_icmp ? 58 : 6;
    wire::write(wire::Ipv6Header{flow.remote.address, flow.local.address, next,
                                 ip.ttl.value_or(ttl_in), tos, ip.flow_label.value_or(0)},
                length, out);
  } else {
    wire::Ipv4Header header;
    header.source = flow.remote.address;
    header.destination = flow.local.address;
    header.protocol = packet.is_icmp ? wire::IpProtocol::icmp : wire::IpProtocol::tcp;
    header.time_to_live = ip.ttl.value_or(ttl_in);
    header.traffic_class = tos;
    wire::write(header, length, out);
  }
  out.insert(out.end(), body.begin(), body.end());
  return out;
}

Live read_live(std::span<const std::byte> bytes) {
  Live out;
  wire::Ipv4Packet four;
  wire::Ipv6Packet six;
  bool const v6 = !bytes.empty() && std::to_integer<int>(bytes[0]) >> 4 == 6;
  bool const fine = v6 ? wire::parse(bytes, six) == Drop::none && wire::walk(six) == Drop::none
                       : wire::parse(bytes, four) == Drop::none;
  if (!fine) {
    out.complaint = "an invalid IP header";
    return out;
  }
  out.source.address = v6 ? six.header.source : four.header.source;
  out.destination.address = v6 ? six.header.destination : four.header.destination;
  out.traffic_class = v6 ? six.header.traffic_class : four.header.traffic_class;
  out.ttl = v6 ? six.header.hop_limit : four.header.time_to_live;
  out.flow_label = v6 ? six.header.flow_label : 0;
  wire::IpProtocol const protocol = v6 ? six.protocol : four.header.protocol;
  auto const payload = v6 ? six.payload : four.payload;
  if (protocol == wire::IpProtocol::tcp) {
    read_tcp(payload, out);
  } else if (protocol == wire::IpProtocol::icmp || protocol == wire::IpProtocol::icmpv6) {
    read_icmp(payload, out);
  } else {
    out.complaint = "neither TCP nor ICMP";
  }
  return out;
}

std::string flags_text(std::uint16_t flags) {
  constexpr std::string_view letters = "FSRP.UEWA";
  std::string out;
  for (std::size_t bit = 0; bit < letters.size(); ++bit) {
    // The dot is last, as in scripts.
    if ((flags >> bit & 1) != 0 && letters[bit] != '.') {
      out += letters[bit];
    }
  }
  out += (flags & 0x10) != 0 ? "." : "";
  return out.empty() ? "-" : out;
}

std::string options_text(const std::vector<Option>& options) {
  std::string out;
  for (Option const& option : options) {
    out += (out.empty() ? "" : ",") + option_text(option);
  }
  return out;
}

std::string packet_text(const Packet& packet) {
  std::string const front = (packet.direction == Direction::in ? "< " : "> ") +
                            ip_text(packet.ip, !packet.is_icmp && packet.tcp.bad_checksum);
  if (packet.is_icmp) {
    return front + icmp_text(packet.icmp);
  }
  TcpPacket const& tcp = packet.tcp;
  std::string const ports =
      packet.ports    ? fmt::format("{} > {} ", packet.ports->source, packet.ports->destination)
      : packet.socket ? fmt::format("sock({}) ", *packet.socket)
                      : "";
  std::string const begin = tcp.any_sequence ? "..." : fmt::format("{}", tcp.sequence.begin);
  std::string out = fmt::format(
      "{}{}{} {}:{}({})", front, ports, flags_text(tcp.flags), begin,
      tcp.any_sequence ? "..." : fmt::format("{}", tcp.sequence.begin + tcp.sequence.length),
      tcp.sequence.length);
  out += tcp.any_ack ? " ack ..." : tcp.ack ? fmt::format(" ack {}", *tcp.ack) : "";
  out += tcp.window ? fmt::format(" win {}", *tcp.window) : "";
  out += tcp.urgent ? fmt::format(" urg {}", *tcp.urgent) : "";
  if (tcp.any_options) {
    return out + " <...>";
  }
  return tcp.options.empty() ? out : fmt::format("{} <{}>", out, options_text(tcp.options));
}

std::string live_text(const Live& live, const Flow& flow) {
  if (!live.readable) {
    return "> a packet with " + live.complaint;
  }
  if (live.is_icmp) {
    return "> " + icmp_text(live.icmp);
  }
  std::uint32_t const begin = flow.to_script(live.sequence);
  std::string out = fmt::format("> {} {}:{}({})", flags_text(live.flags), begin,
                                begin + live.length, live.length);
  out += (live.flags & 0x10) != 0 ? fmt::format(" ack {}", flow.peer_to_script(live.ack)) : "";
  out += fmt::format(" win {}", live.window);
  out += (live.flags & 0x20) != 0 ? fmt::format(" urg {}", live.urgent) : "";
  return live.options.empty() ? out : fmt::format("{} <{}>", out, options_text(live.options));
}

}  // namespace lockstep::conformance::script
