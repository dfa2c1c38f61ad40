// Changes of an arriving packet's fields.
#include "conformance/script/mutate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "core/wire/checksum.hpp"
#include "core/wire/ipv4.hpp"
#include "core/wire/ipv6.hpp"

namespace lockstep::conformance::script {
namespace {

constexpr std::uint32_t offset_max = 65'535;

/// A field that a script may name in place of an offset.
struct FieldName {
  std::string_view header, name;
  std::uint32_t offset, octets;
};
constexpr std::array field_names_of_headers{FieldName{"tcp", "source_port", 0, 2},
                                            FieldName{"tcp", "destination_port", 2, 2},
                                            FieldName{"tcp", "sequence", 4, 4},
                                            FieldName{"tcp", "ack", 8, 4},
                                            FieldName{"tcp", "data_offset", 12, 1},
                                            FieldName{"tcp", "flags", 13, 1},
                                            FieldName{"tcp", "window", 14, 2},
                                            FieldName{"tcp", "checksum", 16, 2},
                                            FieldName{"tcp", "urgent", 18, 2},
                                            FieldName{"ipv4", "version_ihl", 0, 1},
                                            FieldName{"ipv4", "tos", 1, 1},
                                            FieldName{"ipv4", "total_length", 2, 2},
                                            FieldName{"ipv4", "id", 4, 2},
                                            FieldName{"ipv4", "fragment", 6, 2},
                                            FieldName{"ipv4", "ttl", 8, 1},
                                            FieldName{"ipv4", "protocol", 9, 1},
                                            FieldName{"ipv4", "checksum", 10, 2},
                                            FieldName{"ipv4", "source", 12, 4},
                                            FieldName{"ipv4", "destination", 16, 4},
                                            FieldName{"ipv6", "version_class_flow", 0, 4},
                                            FieldName{"ipv6", "payload_length", 4, 2},
                                            FieldName{"ipv6", "next_header", 6, 1},
                                            FieldName{"ipv6", "hop_limit", 7, 1}};

const FieldName* field_named_in(std::string_view header, std::string_view name) {
  const auto* const found =
      std::find_if(field_names_of_headers.begin(), field_names_of_headers.end(),
                   [&](FieldName const& one) { return one.header == header && one.name == name; });
  return found == field_names_of_headers.end() ? nullptr : found;
}

Mutation::Kind parse_kind(Cursor& cursor) {
  cursor.skip();
  Place const at = cursor.place();
  std::string const word = cursor.word("rep, ins or trun");
  if (word == "rep" || word == "replace" || word == "mutate") {
    return Mutation::Kind::replace;
  }
  if (word == "ins" || word == "insert") {
    return Mutation::Kind::insert;
  }
  if (word == "trun" || word == "truncate") {
    return Mutation::Kind::truncate;
  }
  cursor.fail(at, fmt::format("'{}' was found, expected rep, ins or trun: correct it", word));
}

/// The name of the header: ipv4 and ipv6 must be the script's; ip is either.
std::string parse_header(Cursor& cursor, IpMode mode) {
  cursor.skip();
  Place const at = cursor.place();
  std::string const own = mode == IpMode::ipv6 ? "ipv6" : "ipv4";
  std::string const word = cursor.word("a header: tcp, ipv4 or ipv6");
  if (word != "tcp" && word != "ip" && word != own) {
    cursor.fail(at,
                fmt::format("'{}' was found, expected tcp or {}: correct the header", word, own));
  }
  return word == "ip" ? own : word;
}

/// Octets in hexadecimal, or a number in as many octets as the field has.
std::vector<std::uint8_t> parse_octets(Cursor& cursor, std::uint32_t size) {
  cursor.skip();
  Place const at = cursor.place();
  std::string const word = cursor.word("octets such as 0x70");
  std::vector<std::uint8_t> out;
  if (word.starts_with("0x") && word.size() % 2 == 0 && size == 0) {
    for (std::size_t i = 2; i < word.size(); i += 2) {
      auto const octet = parse_number("0x" + word.substr(i, 2));
      if (!octet) {
        cursor.fail(at,
                    fmt::format("'{}' was found, expected hexadecimal digits: correct it", word));
      }
      out.push_back(static_cast<std::uint8_t>(*octet));
    }
  }
  auto const number = out.empty() ? parse_number(word) : std::nullopt;
  std::uint32_t const octets = size == 0 ? 1 : size;
  bool const fits = number && *number >= 0 && (*number >> (8 * octets)) == 0;
  if (out.empty() && !fits) {
    cursor.fail(at, fmt::format("'{}' was found, expected a number of {} octets, or an even number "
                                "of hexadecimal digits after 0x: correct it",
                                word, octets));
  }
  for (std::uint32_t i = octets; out.size() < octets && i-- > 0;) {
    out.push_back(static_cast<std::uint8_t>(*number >> (8 * i)));
  }
  return out;
}

Mutation parse_mutation(Cursor& cursor, IpMode mode) {
  Mutation out;
  out.kind = parse_kind(cursor);
  std::string const header = parse_header(cursor, mode);
  out.ip = header != "tcp";
  cursor.skip();
  Place const at = cursor.place();
  std::uint32_t size = 0;
  if (std::isdigit(static_cast<unsigned char>(cursor.peek())) != 0) {
    out.offset = cursor.number_up_to(offset_max, "the offset of an octet");
  } else {
    std::string const name = cursor.word("an offset, or the name of a field");
    const FieldName* const field = field_named_in(header, name);
    if (field == nullptr) {
      cursor.fail(at, fmt::format("{} has no field {} that can be changed by name, expected an "
                                  "offset: write its number",
                                  header, name));
    }
    out.offset = field->offset;
    size = field->octets;
  }
  if (out.kind == Mutation::Kind::truncate) {
    out.length = cursor.number_up_to(offset_max, "a number of octets");
  } else {
    out.octets = parse_octets(cursor, out.kind == Mutation::Kind::replace ? size : 0);
  }
  return out;
}

std::size_t ip_header_octets(const std::vector<std::byte>& packet) {
  bool const six = !packet.empty() && std::to_integer<unsigned>(packet[0]) >> 4 == 6;
  return six ? wire::ipv6_header_bytes : wire::ipv4_header_bytes;
}

bool covers(const Mutation& one, bool ip, std::uint32_t from, std::uint32_t octets) {
  std::size_t const size = one.octets.size();
  return one.kind == Mutation::Kind::replace && one.ip == ip && one.offset < from + octets &&
         one.offset + size > from;
}

void set_word_at(std::vector<std::byte>& packet, std::size_t at, std::uint32_t value) {
  if (at + 2 <= packet.size()) {
    packet[at] = static_cast<std::byte>(value >> 8);
    packet[at + 1] = static_cast<std::byte>(value);
  }
}

/// The checksum of TCP, which begins at `tcp`, with the addresses that the packet has now.
void sum_tcp(std::vector<std::byte>& packet, bool six, std::size_t tcp) {
  constexpr std::size_t checksum_at = 16;
  std::size_t const addresses_at = six ? 8 : 12;
  std::size_t const addresses = six ? 32 : 8;
  if (packet.size() < tcp + checksum_at + 2 || tcp < addresses_at + addresses) {
    return;
  }
  set_word_at(packet, tcp + checksum_at, 0);
  std::span<const std::byte> const whole(packet);
  auto const size = static_cast<std::uint32_t>(packet.size() - tcp);
  wire::Partial sum = wire::pseudo_header_sum({{}, {}, 6, Bytes{size}});
  sum = combine(sum, wire::sum(whole.subspan(addresses_at, addresses)));
  sum = combine(sum, wire::sum(whole.subspan(tcp)));
  set_word_at(packet, tcp + checksum_at, sum.checksum());
}

/// Changes the packet; `tcp` is where TCP begins, before and after it.
void carry_out(std::vector<std::byte>& packet, const Mutation& one, std::size_t& tcp) {
  std::size_t const at = std::min(packet.size(), one.offset + (one.ip ? 0 : tcp));
  auto const begin = packet.begin() + static_cast<std::ptrdiff_t>(at);
  if (one.kind == Mutation::Kind::truncate) {
    std::size_t const gone = std::min<std::size_t>(one.length, packet.size() - at);
    packet.erase(begin, begin + static_cast<std::ptrdiff_t>(gone));
    tcp -= one.ip && at < tcp ? std::min(gone, tcp - at) : 0;
    return;
  }
  if (one.kind == Mutation::Kind::insert) {
    packet.insert(begin, one.octets.size(), std::byte{0});
    tcp += one.ip && at <= tcp ? one.octets.size() : 0;
  }
  for (std::size_t i = 0; i < one.octets.size() && at + i < packet.size(); ++i) {
    packet[at + i] = std::byte{one.octets[i]};
  }
}

}  // namespace

std::vector<Mutation> parse_mutations(Cursor& cursor, IpMode mode) {
  std::vector<Mutation> out;
  do {
    out.push_back(parse_mutation(cursor, mode));
  } while (cursor.accept(";") || cursor.accept(","));
  cursor.expect("}", "changes are {rep tcp 12 0x70}, several with ;");
  return out;
}

void mutate(std::vector<std::byte>& packet, const std::vector<Mutation>& mutations) {
  if (mutations.empty()) {
    return;
  }
  std::size_t tcp = ip_header_octets(packet);
  bool const six = tcp == wire::ipv6_header_bytes;
  for (Mutation const& one : mutations) {
    carry_out(packet, one, tcp);
  }
  const auto sets = [&](bool of_ip, std::uint32_t from) {
    return std::any_of(mutations.begin(), mutations.end(),
                       [&](Mutation const& one) { return covers(one, of_ip, from, 2); });
  };
  auto const size = static_cast<std::uint32_t>(packet.size());
  constexpr std::uint32_t checksum_of_tcp = 16;
  if (!sets(false, checksum_of_tcp)) {
    sum_tcp(packet, six, tcp);
  }
  std::uint32_t const length_at = six ? 4 : 2;
  if (!sets(true, length_at)) {
    std::uint32_t const fixed = six ? wire::ipv6_header_bytes : 0;
    set_word_at(packet, length_at, size > fixed ? size - fixed : 0);
  }
  constexpr std::uint32_t checksum_of_ip = 10;
  if (!six && !sets(true, checksum_of_ip) && packet.size() >= tcp) {
    set_word_at(packet, checksum_of_ip, 0);
    set_word_at(packet, checksum_of_ip,
                wire::sum(std::span<const std::byte>(packet).first(tcp)).checksum());
  }
}

}  // namespace lockstep::conformance::script
