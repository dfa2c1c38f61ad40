// Writes little-endian pcapng with a single raw IP interface.
#include "tools/base/capture/pcapng_writer.hpp"

namespace lockstep::tools {
namespace {

constexpr std::uint32_t section_block = 0x0a0d0d0a;
constexpr std::uint32_t interface_block = 1;
constexpr std::uint32_t packet_block = 6;
constexpr std::uint32_t link_raw_ip = 101;

void put16(std::vector<std::byte>& out, std::uint32_t value) {
  out.push_back(static_cast<std::byte>(value & 0xff));
  out.push_back(static_cast<std::byte>(value >> 8 & 0xff));
}

void put32(std::vector<std::byte>& out, std::uint32_t value) {
  put16(out, value);
  put16(out, value >> 16);
}

void put_padded(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
  while (out.size() % 4 != 0) {
    out.push_back(std::byte{0});
  }
}

void put_block(std::vector<std::byte>& out, std::uint32_t kind, std::span<const std::byte> body) {
  auto const length = static_cast<std::uint32_t>(body.size()) + 12;
  put32(out, kind);
  put32(out, length);
  out.insert(out.end(), body.begin(), body.end());
  put32(out, length);
}

}  // namespace

PcapngWriter::PcapngWriter() {
  std::vector<std::byte> section;
  put32(section, 0x1a2b3c4d);
  put16(section, 1);
  put16(section, 0);
  put32(section, 0xffff'ffff);
  put32(section, 0xffff'ffff);
  put_block(bytes_, section_block, section);
  std::vector<std::byte> interface;
  put16(interface, link_raw_ip);
  put16(interface, 0);
  put32(interface, 262144);
  put16(interface, 9);  // if_tsresol: 10^-9 s
  put16(interface, 1);
  put32(interface, 9);
  put32(interface, 0);  // opt_endofopt
  put_block(bytes_, interface_block, interface);
}

void PcapngWriter::add(Instant time, std::span<const std::byte> packet, std::string_view comment) {
  std::vector<std::byte> body;
  put32(body, 0);
  put32(body, static_cast<std::uint32_t>(time.ns >> 32));
  put32(body, static_cast<std::uint32_t>(time.ns & 0xffff'ffff));
  put32(body, static_cast<std::uint32_t>(packet.size()));
  put32(body, static_cast<std::uint32_t>(packet.size()));
  put_padded(body, packet);
  if (!comment.empty()) {
    put16(body, 1);  // opt_comment
    put16(body, static_cast<std::uint32_t>(comment.size()));
    put_padded(body, std::as_bytes(std::span(comment)));
    put32(body, 0);
  }
  put_block(bytes_, packet_block, body);
}

}  // namespace lockstep::tools
