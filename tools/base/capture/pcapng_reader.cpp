// Reads pcapng blocks: sections, interfaces and the three kinds of packet; skips all others.
#include "tools/base/capture/pcapng_reader.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tools/base/capture/octets.hpp"

namespace lockstep::tools {
namespace {

constexpr std::uint32_t section_header = 0x0a0d0d0a;
constexpr std::uint32_t interface_description = 1;
constexpr std::uint32_t old_packet = 2;
constexpr std::uint32_t simple_packet = 3;
constexpr std::uint32_t enhanced_packet = 6;

constexpr std::uint32_t block_bytes_max = 16u << 20;  // the limit of libpcap and Wireshark
constexpr std::size_t piece_bytes = 1u << 18;         // read at once
constexpr std::size_t interfaces_max = 65'536;

constexpr std::uint16_t option_resolution = 9;
constexpr std::uint16_t option_offset = 14;

}  // namespace

std::uint16_t PcapngReader::word(std::size_t at) const {
  std::uint16_t const big = word_at(body_, at);
  return little_ ? static_cast<std::uint16_t>(big << 8 | big >> 8) : big;
}

std::uint32_t PcapngReader::number(std::size_t at) const {
  std::uint32_t const first = word(at);
  std::uint32_t const second = word(at + 2);
  return little_ ? second << 16 | first : first << 16 | second;
}

bool PcapngReader::complain(std::string what) {
  why_ = std::move(what);
  return false;
}

PcapngReader::Outcome PcapngReader::read_body(std::uint32_t length, Bytes begun) {
  if (length < 12 || length % 4 != 0 || length > block_bytes_max) {
    complain(fmt::format("a block of {} octets", length));
    return Outcome::broken;
  }
  body_.assign(begun.begin(), begun.end());
  // Memory grows only as data is read, because the claimed length may be false.
  std::size_t const whole = std::max<std::size_t>(length - 8, begun.size());
  while (body_.size() < whole) {
    std::size_t const have = body_.size();
    std::size_t const piece = std::min(piece_bytes, whole - have);
    body_.resize(have + piece);
    if (std::fread(body_.data() + have, 1, piece, file_) != piece) {
      return Outcome::cut;
    }
  }
  if (number(body_.size() - 4) != length) {
    complain(fmt::format("a block begins with the length {} and ends with {}", length,
                         number(body_.size() - 4)));
    return Outcome::broken;
  }
  body_.resize(body_.size() - 4);
  return Outcome::packet;
}

/// A section has its own interfaces, and its own byte order, given by a magic number.
PcapngReader::Outcome PcapngReader::read_section(Bytes head) {
  std::array<std::byte, 4> order{};
  if (std::fread(order.data(), 1, order.size(), file_) != order.size()) {
    return Outcome::cut;
  }
  std::uint32_t const magic = long_at(order, 0);
  if (magic != 0x1a2b3c4d && magic != 0x4d3c2b1a) {
    complain("a section without the byte-order magic");
    return Outcome::broken;
  }
  little_ = magic == 0x4d3c2b1a;
  body_.assign(head.begin(), head.end());
  interfaces_.clear();
  return read_body(number(4), order);
}

PcapngReader::Outcome PcapngReader::read_block(std::uint32_t& type) {
  std::array<std::byte, 8> head{};
  std::size_t const got = std::fread(head.data(), 1, head.size(), file_);
  if (got != head.size()) {
    return got == 0 ? Outcome::end : Outcome::cut;
  }
  type = long_at(head, 0);
  if (type == section_header) {
    return read_section(head);
  }
  body_.assign(head.begin(), head.end());
  type = number(0);
  return read_body(number(4), {});
}

bool PcapngReader::read_options(std::size_t at, Interface& out) {
  while (at + 4 <= body_.size()) {
    std::uint16_t const code = word(at);
    std::size_t const length = word(at + 2);
    at += 4;
    if (code == 0) {
      return true;
    }
    if (at + length > body_.size()) {
      return complain("an option of an interface that ends beyond its block");
    }
    if (code == option_resolution && length == 1) {
      out.resolution = octet_at(body_, at);
    }
    if (code == option_offset && length == 8) {
      std::uint64_t const low = number(little_ ? at : at + 4);
      std::uint64_t const high = number(little_ ? at + 4 : at);
      out.offset_seconds = static_cast<std::int64_t>(high << 32 | low);
    }
    at += (length + 3) / 4 * 4;
  }
  return true;
}

bool PcapngReader::add_interface() {
  if (body_.size() < 8 || interfaces_.size() == interfaces_max) {
    return complain(body_.size() < 8 ? "the description of an interface is too short"
                                     : "too many interfaces");
  }
  Interface out;
  out.link_type = word(0);
  out.snap_bytes = number(4);
  if (!read_options(8, out)) {
    return false;
  }
  bool const binary = (out.resolution & 0x80) != 0;
  if ((out.resolution & 0x7f) > (binary ? 63 : 19)) {
    return complain(fmt::format("a time resolution of {:#x}", out.resolution));
  }
  interfaces_.push_back(out);
  return true;
}

/// Converts a timestamp in the interface's units to nanoseconds. Precision finer than a nanosecond
/// or 2^-30 s is dropped first, so that no product overflows.
bool PcapngReader::set_time(const Interface& from, std::uint64_t stamp, Instant& out) {
  constexpr std::uint64_t giga = 1'000'000'000;
  unsigned const power = from.resolution & 0x7fu;
  std::uint64_t seconds = 0;
  std::uint64_t nanoseconds = 0;
  if ((from.resolution & 0x80) != 0) {
    seconds = stamp >> power;
    std::uint64_t const rest = stamp - (seconds << power);
    unsigned const kept = std::min(power, 30u);
    nanoseconds = (rest >> (power - kept)) * giga >> kept;
  } else {
    std::uint64_t units = 1;
    for (unsigned i = 0; i < power; ++i) {
      units *= 10;
    }
    seconds = stamp / units;
    std::uint64_t const rest = stamp % units;
    nanoseconds = units <= giga ? rest * (giga / units) : rest / (units / giga);
  }
  auto const since = static_cast<std::int64_t>(std::min<std::uint64_t>(seconds, INT64_MAX / 2));
  constexpr std::int64_t offset_max = INT64_MAX / 2;
  if (from.offset_seconds > offset_max || from.offset_seconds < -offset_max ||
      since < -from.offset_seconds) {
    return complain("its time lies before 1970 or too far ahead");
  }
  out = Instant{} + Duration::seconds(static_cast<std::uint64_t>(since + from.offset_seconds)) +
        Duration::nanoseconds(nanoseconds);
  return true;
}

bool PcapngReader::read_packet(std::uint32_t type, Packet& out) {
  bool const simple = type == simple_packet;
  std::size_t const head = simple ? 4 : 20;
  if (body_.size() < head) {
    return complain("a packet's block is too short");
  }
  std::size_t const index = simple ? 0 : (type == old_packet ? word(0) : number(0));
  if (index >= interfaces_.size()) {
    return complain(
        fmt::format("a packet of interface {}, which the file does not describe", index));
  }
  const Interface& from = interfaces_[index];
  std::size_t const room = body_.size() - head;
  out.interface = static_cast<std::uint32_t>(index);
  out.link_type = from.link_type;
  out.original_bytes = number(simple ? 0 : 16);
  std::size_t captured = simple ? out.original_bytes : number(12);
  if (simple) {
    captured = from.snap_bytes == 0 ? captured : std::min<std::size_t>(captured, from.snap_bytes);
    captured = std::min(captured, room);
  }
  if (captured > room) {
    return complain(fmt::format("a packet of {} octets in a block of {}", captured, room));
  }
  out.bytes = std::span(body_).subspan(head, captured);
  out.time = Instant{};
  return simple ||
         set_time(from, static_cast<std::uint64_t>(number(4)) << 32 | number(8), out.time);
}

PcapngReader::Outcome PcapngReader::next(Packet& out) {
  for (;;) {
    std::uint32_t type = 0;
    Outcome const got = read_block(type);
    if (got != Outcome::packet) {
      return got;
    }
    if (type == interface_description && !add_interface()) {
      return Outcome::broken;
    }
    if (type == enhanced_packet || type == simple_packet || type == old_packet) {
      return read_packet(type, out) ? Outcome::packet : Outcome::broken;
    }
  }
}

}  // namespace lockstep::tools
