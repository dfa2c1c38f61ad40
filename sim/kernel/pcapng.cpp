// The blocks of pcapng: section header, interface description, enhanced packet.
#include "sim/kernel/pcapng.hpp"

#include <array>

namespace lockstep::sim {
namespace {

constexpr std::uint32_t section_header = 0x0a0d'0d0a;
constexpr std::uint32_t interface_description = 1;
constexpr std::uint32_t enhanced_packet = 6;
constexpr std::uint16_t option_comment = 1;
constexpr std::uint16_t option_interface_name = 2;
constexpr std::uint16_t option_packet_flags = 2;
constexpr std::uint16_t option_resolution = 9;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

PcapngWriter::PcapngWriter(ByteSink& sink) : sink_(sink) {
  begin(section_header);
  add32(0x1a2b'3c4d);
  add16(1);
  add16(0);
  // The length of the section is not known yet.
  add32(0xffff'ffff);
  add32(0xffff'ffff);
  finish();
}

void PcapngWriter::interface(CaptureLink link, std::string_view name) {
  begin(interface_description);
  add16(static_cast<std::uint16_t>(link));
  add16(0);
  add32(0);  // no snapshot length
  add_option(option_interface_name, bytes_of(name));
  constexpr std::array nanoseconds{std::byte{9}};
  add_option(option_resolution, nanoseconds);
  add_option(0, {});
  finish();
}

void PcapngWriter::packet(const Packet& packet) {
  begin(enhanced_packet);
  add32(packet.interface);
  add32(packet.at.ns >> 32);
  add32(packet.at.ns & 0xffff'ffff);
  add32(packet.bytes.size());
  add32(packet.bytes.size() + packet.cut);
  add_padded(packet.bytes);
  if (!packet.comment.empty()) {
    add_option(option_comment, bytes_of(packet.comment));
  }
  std::array const flags{static_cast<std::byte>(packet.way), std::byte{}, std::byte{}, std::byte{}};
  add_option(option_packet_flags, flags);
  add_option(0, {});
  finish();
  ++packets_;
}

void PcapngWriter::begin(std::uint32_t type) {
  block_.clear();
  add32(type);
  add32(0);  // block length, filled in at the end
}

void PcapngWriter::finish() {
  std::uint64_t const length = block_.size() + 4;
  add32(length);
  for (std::size_t i = 0; i < 4; ++i) {
    block_[4 + i] = static_cast<std::byte>(length >> (8 * i) & 0xff);
  }
  sink_.put(block_);
}

void PcapngWriter::add16(std::uint32_t value) {
  block_.push_back(static_cast<std::byte>(value & 0xff));
  block_.push_back(static_cast<std::byte>(value >> 8 & 0xff));
}

void PcapngWriter::add32(std::uint64_t value) {
  add16(static_cast<std::uint32_t>(value & 0xffff));
  add16(static_cast<std::uint32_t>(value >> 16 & 0xffff));
}

void PcapngWriter::add_padded(std::span<const std::byte> bytes) {
  block_.insert(block_.end(), bytes.begin(), bytes.end());
  while (block_.size() % 4 != 0) {
    block_.push_back(std::byte{});
  }
}

void PcapngWriter::add_option(std::uint16_t code, std::span<const std::byte> bytes) {
  add16(code);
  add16(static_cast<std::uint32_t>(bytes.size()));
  add_padded(bytes);
}

}  // namespace lockstep::sim
