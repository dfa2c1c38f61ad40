// Packets of a script: < and >, TCP with its options, ICMP.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>

#include "conformance/script/parse.hpp"

namespace lockstep::script {
namespace {

constexpr std::uint64_t word32 = 0xffff'ffff;

struct IcmpType {
  bool v6;
  std::string_view type;
  std::string_view codes;  // each with a space behind it; empty: the type has none
};

constexpr std::array icmp_types{
    IcmpType{false, "unreachable",
             "net_unreachable host_unreachable protocol_unreachable port_unreachable frag_needed "
             "source_route_failed net_unknown host_unknown source_host_isolated net_prohibited "
             "host_prohibited net_unreachable_for_tos host_unreachable_for_tos "
             "packet_filtered precedence_violation precedence_cutoff "},
    IcmpType{false, "source_quench", ""},
    IcmpType{false, "redirect", "net_redirect host_redirect net_redirect_for_tos "
                                "host_redirect_for_tos "},
    IcmpType{false, "time_exceeded", "ttl_exceeded reassembly_exceeded "},
    IcmpType{false, "parameter_problem", ""},
    IcmpType{true, "unreachable",
             "no_route admin_prohibited beyond_scope addr_unreachable port_unreachable "
             "policy_failed route_rejected "},
    IcmpType{true, "packet_too_big", ""},
    IcmpType{true, "time_exceeded", "hop_limit reassembly_exceeded "},
    IcmpType{true, "parameter_problem", "header_field next_header option "},
};

std::string join(std::string_view words) {
  std::string out;
  for (char const c : words) {
    out += c == ' ' ? ", " : std::string(1, c);
  }
  return out.substr(0, out.size() - std::min<std::size_t>(2, out.size()));
}

Sequences parse_sequences(Cursor& cursor) {
  Sequences out;
  Place const place = cursor.place();
  out.first = static_cast<std::uint32_t>(cursor.number("a sequence number", word32));
  cursor.expect(":");
  auto const end = cursor.number("the sequence number behind the text", word32);
  out.end = static_cast<std::uint32_t>(end);
  cursor.expect("(");
  out.length = static_cast<std::uint32_t>(cursor.number("the length of the text", word32));
  cursor.expect(")");
  if (out.end - out.first != out.length) {
    Cursor::fail(place, fmt::format("{}:{} are {} octets, and not {}", out.first, out.end,
                                    out.end - out.first, out.length));
  }
  return out;
}

std::string parse_flags(Cursor& cursor) {
  constexpr std::string_view known = "FSRP.UEWA";
  std::string out;
  if (cursor.take("-")) {
    return out;
  }
  while (known.find(cursor.peek()) != std::string_view::npos && cursor.peek() != '\0') {
    char const flag = cursor.peek();
    if (out.find(flag) != std::string::npos) {
      cursor.fail("each flag once");
    }
    out += cursor.next();
  }
  if (out.empty() || cursor.peek() > ' ') {
    cursor.fail("TCP flags (some of F S R P . U E W A, or -), or icmp, icmpv6");
  }
  cursor.skip();
  return out;
}

std::uint32_t option_number(Cursor& cursor, std::string_view what, std::uint64_t most = word32) {
  return static_cast<std::uint32_t>(cursor.number(what, most));
}

// Two hexadecimal digits an octet.
std::vector<std::uint8_t> parse_cookie(Cursor& cursor) {
  std::vector<std::uint8_t> out;
  auto const digit = [](char c) {
    std::size_t const at = std::string_view("0123456789abcdef").find(static_cast<char>(
        c >= 'A' && c <= 'F' ? c + 32 : c));
    return at == std::string_view::npos ? -1 : static_cast<int>(at);
  };
  while (digit(cursor.peek()) >= 0 && digit(cursor.peek(1)) >= 0) {
    int const high = digit(cursor.next());
    out.push_back(static_cast<std::uint8_t>(high * 16 + digit(cursor.next())));
  }
  if (cursor.peek() != ',' && cursor.peek() != '>' && cursor.peek() > ' ') {
    cursor.fail("a cookie of whole octets in hexadecimal");
  }
  cursor.skip();
  return out;
}

Option parse_option(Cursor& cursor) {
  using Kind = Option::Kind;
  if (cursor.take_word("mss")) {
    return {Kind::mss, {option_number(cursor, "the MSS", 0xffff)}, {}};
  }
  if (cursor.take_word("wscale")) {
    return {Kind::window_scale, {option_number(cursor, "the shift", 0xff)}, {}};
  }
  if (cursor.take_word("sackOK")) {
    return {Kind::sack_permitted, {}, {}};
  }
  if (cursor.take_word("nop")) {
    return {Kind::nop, {}, {}};
  }
  if (cursor.take_word("eol")) {
    return {Kind::end, {}, {}};
  }
  if (cursor.take_word("sack")) {
    Option out{Kind::sack, {}, {}};
    do {
      out.numbers.push_back(option_number(cursor, "the begin of a block"));
      cursor.expect(":");
      out.numbers.push_back(option_number(cursor, "the end of a block"));
    } while (is_digit(cursor.peek()));
    return out;
  }
  if (cursor.take_word("TS")) {
    Option out{Kind::timestamps, {}, {}};
    cursor.expect("val");
    out.numbers.push_back(option_number(cursor, "the timestamp"));
    cursor.expect("ecr");
    out.numbers.push_back(option_number(cursor, "the timestamp's echo"));
    return out;
  }
  if (cursor.take_word("FO")) {
    return {Kind::fast_open, {}, parse_cookie(cursor)};
  }
  if (cursor.take_word("FOEXP")) {
    return {Kind::fast_open_old, {}, parse_cookie(cursor)};
  }
  cursor.fail("a TCP option: mss, wscale, sackOK, sack, TS, FO, FOEXP, nop, eol");
}

// How many octets the options are on the wire.
std::size_t size_of(const Option& option) {
  switch (option.kind) {
    case Option::Kind::mss:
      return 4;
    case Option::Kind::window_scale:
      return 3;
    case Option::Kind::sack_permitted:
      return 2;
    case Option::Kind::sack:
      return 2 + option.numbers.size() * 4;
    case Option::Kind::timestamps:
      return 10;
    case Option::Kind::nop:
    case Option::Kind::end:
      return 1;
    case Option::Kind::fast_open:
      return 2 + option.octets.size();
    case Option::Kind::fast_open_old:
      return 4 + option.octets.size();
  }
  return 0;
}

void parse_options(Cursor& cursor, TcpPacket& out) {
  Place const place = cursor.place();
  cursor.expect("<");
  if (cursor.take("...")) {
    out.any_options = true;
    cursor.expect(">");
    return;
  }
  if (cursor.take(">")) {
    return;
  }
  std::size_t octets = 0;
  do {
    out.options.push_back(parse_option(cursor));
    octets += size_of(out.options.back());
  } while (cursor.take(","));
  cursor.expect(">");
  if (octets > 40) {
    Cursor::fail(place, fmt::format("these options have {} octets, a header 40 at most", octets));
  }
}

TcpPacket parse_tcp(Cursor& cursor) {
  TcpPacket out;
  out.flags = parse_flags(cursor);
  out.text = parse_sequences(cursor);
  if (cursor.take_word("ack")) {
    out.ack = option_number(cursor, "the acknowledgment");
  }
  if (cursor.take_word("win")) {
    out.window = option_number(cursor, "the window", 0xffff);
  }
  if (cursor.take_word("urg")) {
    out.urgent = option_number(cursor, "the urgent pointer", 0xffff);
  }
  // A packet from the next line begins with a time, so '<' here opens the options.
  if (cursor.peek() == '<') {
    parse_options(cursor, out);
  }
  return out;
}

IcmpPacket parse_icmp(Cursor& cursor, bool v6) {
  IcmpPacket out;
  out.v6 = v6;
  Place const place = cursor.place();
  out.type = cursor.word();
  auto const* const known = std::ranges::find_if(
      icmp_types, [&](const IcmpType& t) { return t.v6 == v6 && t.type == out.type; });
  if (known == icmp_types.end()) {
    std::string all;
    for (IcmpType const& each : icmp_types) {
      all += each.v6 == v6 ? (all.empty() ? "" : ", ") + std::string(each.type) : "";
    }
    Cursor::fail(place, fmt::format("'{}' is no type of ICMP; expected one of {}", out.type, all));
  }
  if (!known->codes.empty()) {
    Place const code_place = cursor.place();
    out.code = cursor.word();
    bool const fits = !out.code.empty() &&
                      (" " + std::string(known->codes)).find(" " + out.code + " ") !=
                          std::string::npos;
    if (!fits) {
      Cursor::fail(code_place, fmt::format("'{}' is no code of {}; expected one of {}", out.code,
                                           out.type, join(known->codes)));
    }
  }
  if (cursor.take_word("mtu")) {
    out.mtu = option_number(cursor, "the MTU");
  }
  if (cursor.take("[")) {
    out.quoted = parse_sequences(cursor);
    cursor.expect("]");
  }
  return out;
}

Ecn parse_ecn(Cursor& cursor) {
  if (!cursor.take("[")) {
    return Ecn::unsaid;
  }
  struct Name {
    std::string_view name;
    Ecn ecn;
  };
  for (Name const& each : {Name{"noecn", Ecn::none}, Name{"ect0", Ecn::ect0},
                           Name{"ect1", Ecn::ect1}, Name{"ce", Ecn::ce}}) {
    if (cursor.take_word(each.name)) {
      cursor.expect("]");
      return each.ecn;
    }
  }
  cursor.fail("noecn, ect0, ect1 or ce");
}

}  // namespace

Packet parse_packet(Cursor& cursor) {
  Packet out;
  out.inbound = cursor.peek() == '<';
  cursor.take(out.inbound ? "<" : ">");
  out.ecn = parse_ecn(cursor);
  if (cursor.take_word("icmp")) {
    out.what = parse_icmp(cursor, false);
  } else if (cursor.take_word("icmpv6")) {
    out.what = parse_icmp(cursor, true);
  } else {
    out.what = parse_tcp(cursor);
  }
  return out;
}

}  // namespace lockstep::script
