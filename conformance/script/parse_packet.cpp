// Parses a packet: IP fields, TCP header and options, or an ICMP message.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "conformance/script/mutate.hpp"
#include "conformance/script/parts.hpp"

namespace lockstep::conformance::script {
namespace {

constexpr std::uint64_t most32 = 0xffff'ffff;
constexpr std::uint32_t tcp_header_bytes = 20;

/// The maximum payload of an IP packet; IPv4 counts its header, IPv6 does not.
std::uint32_t payload_max(IpMode mode) { return mode == IpMode::ipv6 ? 65535 : 65515; }

std::uint32_t octets_of(const std::vector<Option>& options) {
  std::uint32_t octets = 0;
  for (Option const& option : options) {
    octets += 1u + (option.length ? 1u : 0u) + static_cast<std::uint32_t>(option.data.size());
  }
  return octets;
}

struct IcmpName {
  std::string_view name;
  std::uint8_t v4, v6;
};
constexpr std::uint8_t none = 255;

constexpr std::array<IcmpName, 14> icmp_types{{{"unreachable", 3, 1},
                                               {"source_quench", 4, none},
                                               {"redirect", 5, none},
                                               {"packet_too_big", none, 2},
                                               {"time_exceeded", 11, 3},
                                               {"parameter_problem", 12, 4},
                                               {"echo_request", 8, 128},
                                               {"timestamp_request", 13, none},
                                               {"timestamp_reply", 14, none},
                                               {"information_request", 15, none},
                                               {"information_reply", 16, none},
                                               {"address_mask_request", 17, none},
                                               {"address_mask_reply", 18, none},
                                               {"echo_reply", 0, 129}}};

constexpr std::array<IcmpName, 29> icmp_codes{{{"net_unreachable", 0, 0},
                                               {"no_route", none, 0},
                                               {"adm_prohibited", 13, 1},
                                               {"host_unreachable", 1, 3},
                                               {"addr_unreachable", none, 3},
                                               {"protocol_unreachable", 2, none},
                                               {"port_unreachable", 3, 4},
                                               {"frag_needed", 4, none},
                                               {"source_route_failed", 5, none},
                                               {"net_unknown", 6, none},
                                               {"host_unknown", 7, none},
                                               {"source_host_isolated", 8, none},
                                               {"net_prohibited", 9, none},
                                               {"host_prohibited", 10, none},
                                               {"packet_filtered", 13, none},
                                               {"precedence_violation", 14, none},
                                               {"precedence_cutoff", 15, none},
                                               {"net_unreachable_for_tos", 11, none},
                                               {"host_unreachable_for_tos", 12, none},
                                               {"beyond_scope", none, 2},
                                               {"policy_fail", none, 5},
                                               {"reject_route", none, 6},
                                               {"reassembly_exceeded", 1, 1},
                                               {"pointer", 0, none},
                                               {"option_missing", 1, none},
                                               {"bad_header", none, 0},
                                               {"unknown_next_header", none, 1},
                                               {"unknown_option", none, 2},
                                               {"ttl_exceeded", 0, 0}}};

template <std::size_t N>
std::uint8_t parse_icmp_name(Cursor& cursor, const std::array<IcmpName, N>& names, bool v6,
                             std::string_view what) {
  cursor.skip();
  Place const at = cursor.place();
  std::string const word = cursor.word(what);
  std::string text = word;
  if (const std::string* const value = cursor.defined(word)) {
    text = *value;
  } else if (word.starts_with("type_") || word.starts_with("code_")) {
    text = word.substr(5);
  }
  if (auto const number = parse_number(text); number && *number >= 0 && *number < 256) {
    return static_cast<std::uint8_t>(*number);
  }
  for (IcmpName const& one : names) {
    std::uint8_t const value = v6 ? one.v6 : one.v4;
    if (one.name == word && value != none) {
      return value;
    }
  }
  cursor.fail(at, fmt::format("'{}' was found, expected {} of this IP version, by name or by "
                              "number: correct it",
                              word, what));
}

/// `...` or `!`: a number that is not compared.
bool accept_open(Cursor& cursor) { return cursor.accept("...") || cursor.accept("!"); }

/// BEGIN:END(LENGTH); END may be open, because the others give it.
SequenceRange parse_range(Cursor& cursor) {
  SequenceRange out;
  cursor.skip();
  Place const at = cursor.place();
  out.begin = cursor.number_up_to(most32, "a sequence number such as 1:1001(1000)");
  cursor.expect(":", "a range is BEGIN:END(LENGTH)");
  bool const open = accept_open(cursor);
  std::uint32_t const end = open ? 0 : cursor.number_up_to(most32, "the end of the range");
  cursor.expect("(", "a range is BEGIN:END(LENGTH)");
  out.length = cursor.number_up_to(65535, "a length");
  cursor.expect(")", "a range is BEGIN:END(LENGTH)");
  if (!open && out.begin + out.length != end) {
    cursor.fail(at, fmt::format("the range from {} to {} is not {} long, expected END - BEGIN in "
                                "parentheses: correct one of the three",
                                out.begin, end, out.length));
  }
  return out;
}

/// Of an expected packet: BEGIN may be open too, and then END is, or is left out.
SequenceRange parse_open_range(Cursor& cursor, bool& any) {
  any = accept_open(cursor);
  if (!any) {
    return parse_range(cursor);
  }
  SequenceRange out;
  if (cursor.accept(":") && !accept_open(cursor)) {
    cursor.unexpected("an open end such as ...:...(LENGTH)");
  }
  cursor.expect("(", "a range is BEGIN:END(LENGTH)");
  out.length = cursor.number_up_to(65535, "a length");
  cursor.expect(")", "a range is BEGIN:END(LENGTH)");
  return out;
}

/// Names of IPv6, and DSCP by number or by its name (RFC 2474, 2597, 3246).
void parse_alias(Cursor& cursor, const std::string& name, IpFields& ip) {
  if (name.starts_with("h")) {
    ip.ttl = static_cast<std::uint8_t>(cursor.number_up_to(255, "a hop limit"));
    return;
  }
  if (name != "dscp") {
    ip.tos = static_cast<std::uint8_t>(cursor.number_up_to(255, "an octet"));
    return;
  }
  std::string const word(cursor.next_word());
  bool const by_name = word.size() > 1 && !(word[0] >= '0' && word[0] <= '9');
  unsigned value = 0;
  if (!by_name) {
    value = cursor.number_up_to(63, "a code point");
  } else {
    cursor.accept(word);
    bool const digits = word[word.size() - 1] >= '0' && word[word.size() - 1] <= '7';
    unsigned const last = digits ? static_cast<unsigned>(word.back() - '0') : 0;
    if (word.size() == 3 && (word.starts_with("cs") || word.starts_with("CS")) && digits) {
      value = last << 3;
    } else if (word.size() == 4 && (word.starts_with("af") || word.starts_with("AF")) && digits &&
               word[2] >= '1' && word[2] <= '4') {
      value = static_cast<unsigned>(word[2] - '0') << 3 | last << 1;
    } else if (word == "ef" || word == "EF") {
      value = 46;
    } else {
      cursor.unexpected("a code point: a number, csN, afNN or ef");
    }
  }
  ip.dscp = static_cast<std::uint8_t>(value);
}

void parse_ip_field(Cursor& cursor, Packet& packet) {
  cursor.skip();
  Place const at = cursor.place();
  std::string const name = cursor.word("ect0, ect1, ect01, ce, noecn, tos, ttl or flowlabel");
  if (name == "hlim" || name == "hop_limit" || name == "hoplimit" || name == "class" ||
      name == "traffic_class" || name == "tclass" || name == "dscp") {
    parse_alias(cursor, name, packet.ip);
    return;
  }
  if (name == "noecn") {
    packet.ip.ecn = std::uint8_t{0};
  } else if (name == "ect1") {
    packet.ip.ecn = std::uint8_t{1};
  } else if (name == "ect0") {
    packet.ip.ecn = std::uint8_t{2};
  } else if (name == "ce") {
    packet.ip.ecn = std::uint8_t{3};
  } else if (name == "ect01") {
    packet.ip.ecn = std::uint8_t{4};
  } else if (name == "tos") {
    packet.ip.tos = static_cast<std::uint8_t>(cursor.number_up_to(255, "an octet"));
  } else if (name == "ttl") {
    packet.ip.ttl = static_cast<std::uint8_t>(cursor.number_up_to(255, "a time to live"));
    if (packet.ip.ttl == 0) {
      cursor.fail(at, "a time to live of 0 leaves no host, expected 1 to 255: correct it");
    }
  } else if (name == "flowlabel") {
    packet.ip.flow_label = cursor.number_up_to(0xfffff, "a flow label");
  } else if (name == "checksum" && cursor.accept_word("bad")) {
    packet.tcp.bad_checksum = true;
  } else {
    cursor.fail(at, fmt::format("'{}' was found, expected ect0, ect1, ect01, ce, noecn, tos, ttl, "
                                "flowlabel or checksum bad: correct it",
                                name));
  }
}

/// [ect0, ttl 64] or (...), but not the range that an ICMP message quotes.
void parse_ip_fields(Cursor& cursor, Packet& packet) {
  Cursor ahead = cursor;
  char const close = ahead.accept("[") ? ']' : ahead.accept("(") ? ')' : '\0';
  ahead.skip();
  if (close == '\0' || (ahead.peek() >= '0' && ahead.peek() <= '9')) {
    return;
  }
  cursor = ahead;
  parse_ip_field(cursor, packet);
  while (cursor.accept(",")) {
    parse_ip_field(cursor, packet);
  }
  cursor.expect(std::string_view(&close, 1), "IP fields are in brackets, with commas");
}

/// SOURCE > DESTINATION before the flags; none: the connection used last.
std::optional<PortNames> parse_ports(Cursor& cursor) {
  cursor.skip();
  // But a digit may also be the first of the flags, as in `5. 1:1(0)`.
  Cursor ahead = cursor;
  std::string const digits(ahead.next_word());
  ahead.accept(digits);
  bool const number = !digits.empty() && std::all_of(digits.begin(), digits.end(),
                                                     [](char c) { return c >= '0' && c <= '9'; });
  if (!number || (digits.size() == 1 && !ahead.accept(">"))) {
    return std::nullopt;
  }
  PortNames out;
  out.source = static_cast<std::uint16_t>(cursor.number_up_to(65535, "a port"));
  cursor.expect(">", "ports precede the flags: SOURCE > DESTINATION");
  out.destination = static_cast<std::uint16_t>(cursor.number_up_to(65535, "a port"));
  return out;
}

constexpr std::uint16_t ace_flags = 0x1c0;

std::uint16_t parse_flags(Cursor& cursor) {
  constexpr std::string_view letters = "FSRP.UEWA";
  cursor.skip();
  std::uint16_t flags = 0;
  bool any = false, counted = false;
  while (!std::isspace(static_cast<unsigned char>(cursor.peek())) && cursor.peek() != '\0') {
    std::size_t const bit = letters.find(cursor.peek());
    if (cursor.peek() == '-' && !any) {
      cursor.take();
      return 0;
    }
    // The three bits of AccECN as one number: 5 is A and E.
    bool const digit = cursor.peek() >= '0' && cursor.peek() <= '7';
    if (digit && !counted && (flags & ace_flags) == 0) {
      unsigned const value = static_cast<unsigned>(cursor.take() - '0');
      flags = static_cast<std::uint16_t>(flags | value << 6);
      counted = true;
      any = true;
      continue;
    }
    if (bit == std::string_view::npos) {
      cursor.unexpected("flags of F S R P . U E W A, or - for none",
                        "a packet is FLAGS BEGIN:END(LENGTH) ack N win N <OPTIONS>");
    }
    cursor.take();
    flags = static_cast<std::uint16_t>(flags | 1u << bit);
    any = true;
  }
  if (!any) {
    cursor.unexpected("flags of F S R P . U E W A, or - for none");
  }
  return flags;
}

void put32(std::vector<std::uint8_t>& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    out.push_back(static_cast<std::uint8_t>(value >> shift));
  }
}

std::vector<std::uint8_t> parse_hex(Cursor& cursor) {
  cursor.skip();
  Place const at = cursor.place();
  std::string word = cursor.word("octets in hexadecimal");
  if (const std::string* const value = cursor.defined(word)) {
    word = *value;
  }
  word = word.starts_with("0x") ? word.substr(2) : word;
  std::vector<std::uint8_t> out;
  for (std::size_t i = 0; i < word.size(); i += 2) {
    auto const octet = parse_number("0x" + word.substr(i, 2));
    if (i + 1 == word.size() || !octet) {
      cursor.fail(at, fmt::format("'{}' was found, expected an even number of hexadecimal digits: "
                                  "correct it",
                                  word));
    }
    out.push_back(static_cast<std::uint8_t>(*octet));
  }
  return out;
}

bool at_hex(Cursor& cursor) {
  std::string_view const word = cursor.next_word();
  if (cursor.defined(word) != nullptr) {
    return true;
  }
  bool const name = !word.empty() && !std::all_of(word.begin(), word.end(), [](char c) {
    return std::isxdigit(static_cast<unsigned char>(c)) != 0;
  });
  if (name) {
    cursor.unexpected("octets in hexadecimal, or a defined name",
                      "define it with --define NAME=OCTETS");
  }
  return std::isxdigit(static_cast<unsigned char>(cursor.peek())) != 0;
}

/// kind N, or kind N len N [hex OCTETS]: any octets, valid or not.
Option parse_raw(Cursor& cursor) {
  Option out;
  out.kind = static_cast<std::uint8_t>(cursor.number_up_to(255, "the kind of an option"));
  if (cursor.accept_word("len")) {
    out.length = static_cast<std::uint8_t>(cursor.number_up_to(255, "the length of an option"));
    if (cursor.accept_word("hex")) {
      out.data = parse_hex(cursor);
    }
  }
  return out;
}

void parse_sack(Cursor& cursor, Option& out) {
  cursor.skip();
  while (cursor.peek() >= '0' && cursor.peek() <= '9') {
    put32(out.data, cursor.number_up_to(most32, "the begin of a block"));
    cursor.expect(":", "a block is BEGIN:END");
    put32(out.data, cursor.number_up_to(most32, "the end of a block"));
    cursor.skip();
  }
}

/// ECN e0b N ceb N e1b N, or e1b first: the order gives the kind of the option; trailing counters
/// may be omitted (RFC 9768 3.2.3).
Option parse_counters(Cursor& cursor) {
  static constexpr std::array<std::array<std::string_view, 3>, 2> orders{
      {{"e0b", "ceb", "e1b"}, {"e1b", "ceb", "e0b"}}};
  Option out;
  bool const second = cursor.next_word() == "e1b";
  out.kind = second ? 174 : 172;
  for (std::string_view const name : orders[second ? 1 : 0]) {
    if (!cursor.accept_word(name)) {
      break;
    }
    std::uint32_t const count = cursor.number_up_to(0xff'ffff, "a counter of 24 bits");
    for (int shift = 16; shift >= 0; shift -= 8) {
      out.data.push_back(static_cast<std::uint8_t>(count >> shift));
    }
  }
  if (out.data.empty()) {
    cursor.unexpected("ECN e0b N ceb N e1b N, or ECN e1b N ceb N e0b N");
  }
  return out;
}

/// Appends octets in hexadecimal, `count` of them unless that is 0.
void put_hex(Cursor& cursor, Option& out, std::size_t count, std::string_view what) {
  cursor.skip();
  Place const at = cursor.place();
  auto const octets = parse_hex(cursor);
  if (count != 0 && octets.size() != count) {
    cursor.fail(at, fmt::format("{} of {} octets was found, expected {}: correct it", what,
                                octets.size(), count));
  }
  out.data.insert(out.data.end(), octets.begin(), octets.end());
}

/// Options that this stack declines, as octets: TCP-AO (RFC 5925 2.2) and MPTCP (RFC 8684 3).
/// False: another name.
bool parse_declined(Cursor& cursor, std::string_view name, Option& out) {
  constexpr std::size_t key_octets = 8;
  if (name == "ao") {
    out.kind = 29;
    for (std::string_view const id : {"a KeyID", "an RNextKeyID"}) {
      out.data.push_back(static_cast<std::uint8_t>(cursor.number_up_to(255, id)));
    }
    put_hex(cursor, out, 0, "a MAC");
  } else if (name == "mptcp") {
    out.kind = 30;
    put_hex(cursor, out, 0, "an option");
  } else if (name == "mp_capable") {
    // Version 1, and HMAC-SHA256 without checksums.
    out.kind = 30;
    out.data = {0x01, 0x01};
    constexpr int keys = 2;  // the sender's and the receiver's (RFC 8684 3.1)
    for (int i = 0; i < keys && at_hex(cursor); ++i) {
      put_hex(cursor, out, key_octets, "a key");
    }
    if (at_hex(cursor)) {
      cursor.fail(cursor.place(), "mp_capable has at most two keys of 8 octets");
    }
  } else {
    return false;
  }
  return true;
}

/// Of the option of RFC 2385.
std::vector<std::uint8_t> parse_digest(Cursor& cursor) {
  cursor.skip();
  Place const at = cursor.place();
  if (cursor.accept_word("valid")) {
    cursor.fail(at,
                "md5 valid needs a key, and no call sets one here (TCP_MD5SIG is not "
                "supported): write the digest, 32 hexadecimal digits");
  }
  std::vector<std::uint8_t> out = parse_hex(cursor);
  if (out.size() != 16) {
    cursor.fail(at, fmt::format("a digest of {} octets was found, expected 16: correct it, or "
                                "write it as kind 19",
                                out.size()));
  }
  return out;
}

Option parse_option(Cursor& cursor) {
  Option out;
  cursor.skip();
  Place const at = cursor.place();
  std::string const name = cursor.word("a TCP option");
  auto const whole = [&out] { out.length = static_cast<std::uint8_t>(out.data.size() + 2); };
  if (name == "eol" || name == "nop") {
    out.kind = name == "eol" ? 0 : 1;
    return out;
  }
  if (name == "kind") {
    return parse_raw(cursor);
  }
  if (name == "mss") {
    out.kind = 2;
    std::uint32_t const mss = cursor.number_up_to(65535, "a segment size");
    out.data = {static_cast<std::uint8_t>(mss >> 8), static_cast<std::uint8_t>(mss)};
  } else if (name == "wscale") {
    out.kind = 3;
    out.data = {static_cast<std::uint8_t>(cursor.number_up_to(255, "a shift"))};
  } else if (name == "sackOK") {
    out.kind = 4;
  } else if (name == "sack") {
    out.kind = 5;
    parse_sack(cursor, out);
  } else if (name == "TS") {
    out.kind = 8;
    // Without its value only the echo is compared.
    out.any_value = !cursor.accept_word("val") || cursor.accept("...");
    put32(out.data, !out.any_value ? cursor.number_up_to(most32, "a timestamp") : 0);
    if (!cursor.accept_word("ecr")) {
      cursor.unexpected("TS val N ecr N");
    }
    out.any_echo = cursor.accept("...");
    put32(out.data, out.any_echo ? 0 : cursor.number_up_to(most32, "an echo"));
  } else if (name == "md5") {
    out.kind = 19;
    out.data = parse_digest(cursor);
  } else if (name == "ECN" || name == "ACC_ECN") {
    out = parse_counters(cursor);
  } else if (name == "uto") {
    out.kind = 28;
    std::uint32_t const value = cursor.number_up_to(65535, "a user timeout");
    out.data = {static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value)};
  } else if (name == "FO" || name == "FOEXP") {
    out.kind = name == "FO" ? 34 : 254;
    out.data = name == "FO" ? std::vector<std::uint8_t>{} : std::vector<std::uint8_t>{0xf9, 0x89};
    if (at_hex(cursor)) {
      auto const cookie = parse_hex(cursor);
      out.data.insert(out.data.end(), cookie.begin(), cookie.end());
    }
  } else if (!parse_declined(cursor, name, out)) {
    cursor.fail(at, fmt::format("the TCP option {} is not known, expected mss, wscale, sackOK, "
                                "sack, TS, FO, FOEXP, uto, md5, ECN, ao, mp_capable, mptcp, nop, "
                                "eol or kind N len N hex OCTETS: correct it",
                                name));
  }
  whole();
  return out;
}

void parse_options(Cursor& cursor, TcpPacket& tcp, Direction direction) {
  Place const at = cursor.place();
  if (cursor.accept("...")) {
    tcp.any_options = true;
    if (direction == Direction::in) {
      cursor.fail(at,
                  "an arriving packet cannot have <...>, expected its options: "
                  "only an expected packet may omit them");
    }
  } else if (cursor.accept(">")) {
    return;
  } else {
    do {
      Place const option = cursor.place();
      tcp.options.push_back(parse_option(cursor));
      bool const open = tcp.options.back().any_value || tcp.options.back().any_echo;
      if (open && direction == Direction::in) {
        cursor.fail(option, "an arriving timestamp cannot be ..., expected a number: write it");
      }
    } while (cursor.accept(","));
    std::uint32_t const octets = octets_of(tcp.options);
    if (octets > 40 || (octets % 4 != 0 && direction == Direction::out)) {
      cursor.fail(at, fmt::format("these options take {} octets, expected {}: correct them", octets,
                                  octets > 40 ? "40 at most" : "a multiple of 4, with nop or eol"));
    }
  }
  cursor.expect(">", "options are between < and >, with commas");
}

void parse_tcp(Cursor& cursor, Packet& packet) {
  TcpPacket& tcp = packet.tcp;
  cursor.skip();
  Place const begin = cursor.place();
  if (cursor.accept_word("sock")) {
    cursor.expect("(", "a socket's connection is sock(N)");
    packet.socket = cursor.number_up_to(most32, "a descriptor");
    cursor.expect(")", "a socket's connection is sock(N)");
  } else {
    packet.ports = parse_ports(cursor);
  }
  tcp.flags = parse_flags(cursor);
  bool const goes_out = packet.direction == Direction::out;
  tcp.sequence = goes_out ? parse_open_range(cursor, tcp.any_sequence) : parse_range(cursor);
  if (cursor.accept_word("ack")) {
    tcp.any_ack = goes_out && (accept_open(cursor) || cursor.accept("*"));
    if (!tcp.any_ack) {
      tcp.ack = cursor.number_up_to(most32, "an acknowledgment");
    }
  }
  if (cursor.accept_word("win")) {
    if (!(goes_out && (cursor.accept("*") || cursor.accept("...")))) {
      tcp.window = cursor.number_up_to(65535, "a window");
    }
  }
  if (cursor.accept_word("urg")) {
    tcp.urgent = cursor.number_up_to(65535, "an urgent pointer");
  }
  if (cursor.accept("<")) {
    parse_options(cursor, tcp, packet.direction);
  }
  if (packet.direction == Direction::in && !tcp.window) {
    cursor.fail(begin,
                "this arriving packet has no window, expected win N: add the window that the "
                "peer advertises");
  }
}

void parse_icmp(Cursor& cursor, Packet& packet, bool v6) {
  IcmpPacket& icmp = packet.icmp;
  packet.is_icmp = true;
  icmp.type = parse_icmp_name(cursor, icmp_types, v6, "a type of ICMP");
  auto const takes_code = [&] {
    std::string_view const word = cursor.next_word();
    bool const field = word == "mtu" || word == "id";
    return !word.empty() && !field && cursor.peek() != '+' && cursor.peek() != '[';
  };
  Cursor ahead = cursor;  // a time on the next line is not an ICMP code
  ahead.skip();
  bool const same_line = ahead.place().line == cursor.place().line;
  if (same_line && takes_code()) {
    icmp.code = parse_icmp_name(cursor, icmp_codes, v6, "a code of ICMP");
  }
  if (cursor.accept_word("mtu")) {
    icmp.mtu = cursor.number_up_to(v6 ? most32 : 65535, "an MTU");
  }
  if (cursor.accept_word("id")) {
    icmp.id = static_cast<std::uint16_t>(cursor.number_up_to(65535, "the identifier of an echo"));
  }
  if (!icmp.quoted && cursor.accept("[")) {
    icmp.quoted = parse_range(cursor);
    cursor.expect("]", "a quote is [BEGIN:END(LENGTH)]");
  }
}

/// Checks combinations that are invalid although each part is valid.
void check_whole(Cursor& cursor, Place at, const Packet& packet, IpMode mode) {
  bool const in = packet.direction == Direction::in;
  if (packet.ip.flow_label && mode != IpMode::ipv6) {
    cursor.fail(at,
                "IPv4 has no flow label, expected none: remove it, or write "
                "--ip_version=ipv6");
  }
  if (packet.tcp.bad_checksum && (packet.is_icmp || !in)) {
    cursor.fail(at,
                "only an arriving TCP segment can have a bad checksum, expected none: remove "
                "it out");
  }
  std::uint32_t const options = (octets_of(packet.tcp.options) + 3) / 4 * 4;
  std::uint32_t const length = packet.is_icmp ? packet.icmp.quoted.value_or(SequenceRange{}).length
                                              : packet.tcp.sequence.length + options;
  if (in && tcp_header_bytes + length > payload_max(mode)) {
    cursor.fail(
        at, fmt::format("a packet with {} octets after the 20 of TCP's header is longer than IP "
                        "allows, expected at most {}: shorten it",
                        length, payload_max(mode) - tcp_header_bytes));
  }
}

/// {rep tcp 12 0x70}, before the packet or after it.
void take_mutations(Cursor& cursor, Packet& packet, IpMode mode) {
  while (cursor.accept("{")) {
    auto const more = parse_mutations(cursor, mode);
    packet.mutations.insert(packet.mutations.end(), more.begin(), more.end());
  }
}

}  // namespace

Packet parse_packet(Cursor& cursor, IpMode mode) {
  Packet packet;
  Place const at = cursor.place();
  packet.direction = cursor.accept("<") ? Direction::in : Direction::out;
  if (packet.direction == Direction::out) {
    cursor.expect(">", "a packet begins with < or >");
  }
  take_mutations(cursor, packet, mode);
  parse_ip_fields(cursor, packet);
  if (cursor.accept("[")) {
    packet.icmp.quoted = parse_range(cursor);
    cursor.expect("]", "a quote is [BEGIN:END(LENGTH)]");
  }
  if (cursor.accept_word("icmp") || (mode == IpMode::ipv6 && cursor.accept_word("icmpv6"))) {
    parse_icmp(cursor, packet, mode == IpMode::ipv6);
  } else if (packet.icmp.quoted) {
    cursor.unexpected("icmp after the quote");
  } else {
    std::string_view const word = cursor.next_word();
    if (word == "udp" || word == "gre" || word == "mpls" || word == "ipv4" || word == "ipv6") {
      cursor.unexpected("a TCP segment or icmp", "this stack supports neither UDP nor tunnels");
    }
    parse_tcp(cursor, packet);
  }
  take_mutations(cursor, packet, mode);
  if (!packet.mutations.empty() && packet.direction == Direction::out) {
    cursor.fail(at,
                "only an arriving packet can have changed fields, expected none: write what must "
                "be sent");
  }
  check_whole(cursor, at, packet, mode);
  return packet;
}

}  // namespace lockstep::conformance::script
